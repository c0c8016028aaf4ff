#include "nccl/net/comm.h"

#include <algorithm>
#include <utility>

namespace railweave::nccl {

Comm::Comm(const Context* context) : Owned(context) {
  for (NcclRequest& ticket : tickets_) {
    ticket.comm = this;
    free(ticket);
  }
}

Comm::Comm(const Context* context, std::unique_ptr<SendStream> stream) : Comm(context) {
  send_ = stream.get();
  stream_ = std::move(stream);
}

Comm::Comm(const Context* context, std::unique_ptr<RecvStream> stream) : Comm(context) {
  recv_ = stream.get();
  stream_ = std::move(stream);
}

Result<NcclRequest*> Comm::send(const void* data, std::size_t size) {
  if (!send_) return Status(Code::internal, Scope::request, "isend on a comm that receives");
  if (!free_) return nullptr;
  return ticket_for(send_->post(data, size));
}

Result<NcclRequest*> Comm::receive(void* data, std::size_t capacity, Reading reading) {
  if (!recv_) return Status(Code::internal, Scope::request, "irecv on a comm that sends");
  if (!free_) return nullptr;
  return ticket_for(recv_->post(data, capacity, reading));
}

Result<NcclRequest*> Comm::ticket_for(Result<Request*> posted) {
  if (!posted.ok()) return posted.status();
  if (!posted.value()) return nullptr;
  NcclRequest* ticket = std::exchange(free_, free_->next_free);
  ticket->request = posted.value();
  return ticket;
}

void Comm::free(NcclRequest& ticket) {
  ticket.request = nullptr;
  ticket.next_free = std::exchange(free_, &ticket);
}

Result<Progress> Comm::test(NcclRequest& ticket) {
  if (!ticket.request) return Status(Code::internal, Scope::request, "test of a request that has already ended");
  Result<Progress> progress = stream_->test(ticket.request);
  if (!progress.ok() || progress->done) free(ticket);
  return progress;
}

Memory* Comm::add_memory(void* data, std::size_t size) { return &memory_.emplace_back(Memory{data, size}); }

Status Comm::withdraw_memory(const Memory* memory) {
  const auto found = std::find_if(memory_.begin(), memory_.end(), [&](const Memory& m) { return &m == memory; });
  if (found == memory_.end())
    return Status(Code::internal, Scope::request, "deregMr of memory that is not registered with this comm");
  stream_->withdraw(found->data, found->size);
  memory_.erase(found);
  return {};
}

}  // namespace railweave::nccl
