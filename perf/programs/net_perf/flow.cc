#include "net_perf/flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "common/console.h"
#include "net_perf/plugin.h"

namespace railweave::perf::net_perf {
namespace {

constexpr int kSpoiled = 0x5A;
constexpr std::uint64_t kErrorsShown = 5;

}  // namespace

Status Flow::attach() {
  const auto region = memory_->region();
  RW_TRY(status_of_call(context_.net.reg_mr(comm_, region.data(), region.size(), nccl::abi::kPtrHost, &mhandle_),
                        "regMr"));
  attached_ = true;
  return {};
}

Flow::~Flow() {
  if (attached_) context_.net.dereg_mr(comm_, mhandle_);
}

Result<bool> Flow::step() {
  bool moved = false;
  if (posted_ < goal_ && posted_ - done_ < std::uint64_t(context_.inflight)) {
    RW_ASSIGN_OR_RETURN(moved, post_next());
  }
  if (done_ == posted_) return moved;
  RW_ASSIGN_OR_RETURN(const bool finished, test_oldest());
  return moved || finished;
}

Result<bool> Flow::post_next() {
  if (!next_prepared_) {
    const std::size_t size = context_.sizes->of(id_, posted_);
    std::byte* place = memory_->take(room_for(size, posted_));
    if (place == nullptr) return false;
    next_ = {place, size};
    next_prepared_ = true;
    prepare(next_, posted_);
  }
  void* request = nullptr;
  RW_TRY(status_of_call(post(next_.data(), next_.size(), mhandle_, &request), call_name()));
  if (request == nullptr) return false;
  outstanding_[posted_++ % outstanding_.size()] = Posted{request, next_};
  next_prepared_ = false;
  return true;
}

Result<bool> Flow::test_oldest() {
  const Posted& oldest = outstanding_[done_ % outstanding_.size()];
  int done = 0, size = -1;
  const auto code = context_.net.test(oldest.request, &done, &size);
  if (code != nccl::abi::kSuccess) {
    return status_of_call(code, fmt::format("test of {} {} on flow {:x}", call_name(), done_, id_));
  }
  if (done == 0) return false;
  RW_TRY(finish(oldest.message, done_, size));
  memory_->give_back();
  ++done_;
  done_bytes_ += oldest.message.size();
  return true;
}

nccl::abi::ReturnCode SendFlow::post(std::byte* place, std::size_t size, void* mhandle, void** request) {
  return context_.net.isend(comm_, place, size, mhandle, request);
}

void SendFlow::prepare(std::span<std::byte> message, std::uint64_t sequence) {
  if (context_.pattern != nullptr) context_.pattern->fill(message, id_, sequence);
}

Status SendFlow::finish(std::span<std::byte> message, std::uint64_t, int) {
  if (context_.pattern != nullptr && !message.empty()) std::memset(message.data(), kSpoiled, message.size());
  context_.totals.sent_bytes += message.size();
  ++context_.totals.sent_messages;
  return {};
}

nccl::abi::ReturnCode RecvFlow::post(std::byte* place, std::size_t size, void* mhandle, void** request) {
  return context_.net.irecv(comm_, 1, place, room_for(size, posted()), mhandle, request);
}

std::size_t RecvFlow::room_for(std::size_t size, std::uint64_t sequence) const {
  const std::size_t largest = context_.sizes->largest();
  return sequence % 2 == 0 ? size : std::min(largest, size + size / 2 + 1);
}

Status RecvFlow::finish(std::span<std::byte> message, std::uint64_t sequence, int reported) {
  if (reported != int(message.size())) {
    return Status(Code::internal, Scope::request,
                  fmt::format("flow {:x} message {}: test() says {} bytes, {} were sent", id_, sequence, reported,
                              message.size()));
  }
  if (context_.pattern != nullptr) {
    ++context_.verified.messages;
    context_.verified.bytes += message.size();
    const auto error = context_.pattern->error(message, id_, sequence);
    if (error && context_.verified.errors++ < kErrorsShown) say(stderr, "verify: {}\n", *error);
  }
  context_.totals.received_bytes += message.size();
  ++context_.totals.received_messages;
  return {};
}

}  // namespace railweave::perf::net_perf
