#include "engine/api/stream_end.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "engine/runtime/fork_guard.h"
#include "wire/overlap.h"

namespace railweave::engine {
template <class F, class P, class B>
void StreamEnd<F, P, B>::leave_session() {
  if (session_->forked()) return;
  // Destructors call this function, so nothing here allocates; the session waits for memory where it needs some.
  closing_ = true;  // ordered before drain() by the session's mutex in close()
  std::vector<Range> ranges = std::move(maybe_in_use_);
  for (std::size_t i = 0; i < requests_.capacity(); ++i) {
    const Request& r = requests_.at(i);
    if (r.state.load(std::memory_order_acquire) != Request::State::free && r.size > 0)
      ranges.push_back({r.data, r.size});
  }
  session_->close(stream_, *this, ranges);
}

template <class F, class P, class B>
Result<Request*> StreamEnd<F, P, B>::enqueue(B* data, std::size_t size, const PostOptions& options) {
  if (session_->forked()) return dead_after_fork();
  if (size > protocol::kMessageBytesMax)
    return Status(Code::invalid_argument, Scope::request,
                  "a message of " + std::to_string(size) + " bytes, expected at most " +
                      std::to_string(protocol::kMessageBytesMax));
  Request* request = requests_.take();
  if (request == nullptr) return static_cast<Request*>(nullptr);
  assert(request->state.load(std::memory_order_relaxed) == Request::State::free);
  request->data = const_cast<std::byte*>(data);
  request->size = size;
  request->tag = options.tag;
  request->order = options.order;
  request->reading = options.reading;
  request->posted_at_ns.store(session_->now().time_since_epoch().count(), std::memory_order_relaxed);
  request->state.store(Request::State::posted, std::memory_order_relaxed);
  posts_.try_push(request);  // as many places as requests
  call_drain();
  return request;
}

template <class F, class P, class B>
Result<Progress> StreamEnd<F, P, B>::test(Request* request) {
  if (request->state.load(std::memory_order_acquire) == Request::State::done) return finish(*request);
  if (session_->forked()) return dead_after_fork();
  session_->progress();
  if (request->state.load(std::memory_order_acquire) == Request::State::done) return finish(*request);
  return Progress{};
}

template <class F, class P, class B>
bool StreamEnd<F, P, B>::ended(const Request* request) const {
  return request->state.load(std::memory_order_acquire) == Request::State::done;
}

template <class F, class P, class B>
Result<Progress> StreamEnd<F, P, B>::finish(Request& request) {
  assert(requests_.owns(&request) && request.state.load(std::memory_order_relaxed) == Request::State::done);
  if (!request.status.ok() && request.size > 0) {  // first: this may throw, and the caller then tests again
    if (maybe_in_use_.size() < kRequestsPerStream)
      maybe_in_use_.push_back({request.data, request.size});
    else
      withdraw(request.data, request.size);
  }
  const Status status = std::exchange(request.status, Status());
  const Progress progress{true, request.bytes, request.tag};
  request.state.store(Request::State::free, std::memory_order_relaxed);
  requests_.give_back(&request);
  if (!status.ok()) return status;
  return progress;
}

template <class F, class P, class B>
void StreamEnd<F, P, B>::withdraw(const void* data, std::size_t size) {
  if (!session_->forked()) session_->withdraw(stream_, *this, {static_cast<const std::byte*>(data), size});
}

template <class F, class P, class B>
Inbox::Unfinished StreamEnd<F, P, B>::unfinished() const {
  Unfinished found;
  std::uint64_t& count = std::is_same_v<P, protocol::SendStream> ? found.sends : found.receives;
  for (std::size_t i = 0; i < requests_.capacity(); ++i) {
    const Request& r = requests_.at(i);
    if (r.state.load(std::memory_order_relaxed) != Request::State::posted) continue;
    ++count;
    found.oldest_post = std::min(found.oldest_post, TimePoint(Nanos(r.posted_at_ns.load(std::memory_order_relaxed))));
  }
  return found;
}

template <class F, class P, class B>
bool StreamEnd<F, P, B>::holds(Range range) const {
  const auto touches = [&](const Request* r) { return r->size > 0 && wire::overlap(Range{r->data, r->size}, range); };
  return (held_ != nullptr && touches(held_)) || posts_.any_of(touches);
}

template <class F, class P, class B>
bool StreamEnd<F, P, B>::post_held(protocol::SessionProtocol& session) {
  if (!stream_.can_post()) return false;
  // cleared first: the request is posted once, even if post() then throws std::bad_alloc
  Request* const request = std::exchange(held_, nullptr);
  if constexpr (std::is_same_v<P, protocol::RecvStream>) {
    session.post(stream_, request, request->data, request->size, request->reading == Reading::while_landing);
  } else {
    session.post(stream_, request, request->data, request->size, request->tag, request->order);
  }
  return true;
}

template <class F, class P, class B>
bool StreamEnd<F, P, B>::drain(protocol::SessionProtocol& session) {
  if (closing_) return true;
  while (held_ != nullptr || posts_.try_pop(held_))
    if (!post_held(session)) return false;
  return true;
}

void SendEnd::expedite(std::uint64_t order) {
  if (session_->forked() || order < expedited_below_.load(std::memory_order_relaxed)) return;
  expedited_below_.store(order + 1, std::memory_order_relaxed);
  call_drain();
}

bool SendEnd::drain(protocol::SessionProtocol& session) {
  if (const std::uint64_t below = expedited_below_.load(std::memory_order_relaxed);
      below > announced_below_ && !closing_) {
    announced_below_ = below;
    session.expedite(stream_, below - 1);
  }
  return StreamEnd::drain(session);
}

template class StreamEnd<SendStream, protocol::SendStream, const std::byte>;
template class StreamEnd<RecvStream, protocol::RecvStream, std::byte>;

}  // namespace railweave::engine
