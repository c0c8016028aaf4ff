#include "nccl/net/comm.h"

#include <algorithm>
#include <utility>

namespace railweave::nccl {

Comm::Comm(const Context* context) : Owned(context) {
  for (NcclRequest& nccl_request : requests_) {
    nccl_request.comm = this;
    free(nccl_request);
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
  return nccl_request_for(send_->post(data, size));
}

Result<NcclRequest*> Comm::receive(void* data, std::size_t capacity, Reading reading) {
  if (!recv_) return Status(Code::internal, Scope::request, "irecv on a comm that sends");
  if (!free_) return nullptr;
  return nccl_request_for(recv_->post(data, capacity, reading));
}

Result<NcclRequest*> Comm::nccl_request_for(Result<Request*> posted) {
  if (!posted.ok()) return posted.status();
  if (!posted.value()) return nullptr;
  NcclRequest* nccl_request = std::exchange(free_, free_->next_free);
  nccl_request->request = posted.value();
  return nccl_request;
}

void Comm::free(NcclRequest& nccl_request) {
  nccl_request.request = nullptr;
  nccl_request.next_free = std::exchange(free_, &nccl_request);
}

Result<Progress> Comm::test(NcclRequest& nccl_request) {
  if (!nccl_request.request) return Status(Code::internal, Scope::request, "test of a request that has already ended");
  Result<Progress> progress = stream_->test(nccl_request.request);
  if (!progress.ok() || progress->done) free(nccl_request);
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
