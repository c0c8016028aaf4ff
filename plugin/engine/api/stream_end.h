// This process's end of a stream, as its caller sees the stream: request slots, and an inbox into the session.
// Threads: one caller at a time; drain() and holds() on the thread that drives the session, under the session's mutex.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/slot_pool.h"
#include "base/spsc_ring.h"
#include "engine/api/request.h"
#include "engine/session/session.h"
#include "railweave/endpoint.h"

namespace railweave::engine {

// Face: railweave::SendStream or RecvStream. ProtocolStream: its counterpart in the session. Bytes: std::byte of the
// caller's memory, const for a send.
template <class Face, class ProtocolStream, class Bytes>
class StreamEnd : public Face, private Inbox {
 public:
  StreamEnd(std::shared_ptr<Session> session, ProtocolStream& stream)
      : session_(std::move(session)), stream_(stream), posts_(kRequestsPerStream), requests_(kRequestsPerStream) {
    maybe_in_use_.reserve(2 * kRequestsPerStream);  // leave_session() adds memory of requests under way
  }
  // Call it once the whole object is constructed: from now on statistics call its virtual functions, on any thread.
  // leave_session() ends these calls.
  void enlist() { session_->enlist(*this); }
  // The session is over: only receives whose message is here already can still succeed.
  bool dead() const { return session_->over(); }
  // The end is handed to the caller, and keeps `engine` alive from now on.
  void hold(std::shared_ptr<const void> engine) { engine_ = std::move(engine); }

  Result<Progress> test(Request* request) override;
  bool ended(const Request* request) const override;
  void withdraw(const void* data, std::size_t size) override;

 private:
  std::shared_ptr<const void> engine_;  // first member: released last

 protected:
  struct PostOptions {
    std::uint64_t tag = 0, order = 0;
    Reading reading = Reading::when_done;
  };
  Result<Request*> enqueue(Bytes* data, std::size_t size, const PostOptions& options);
  bool drain(protocol::SessionProtocol& session) override;
  // Has drain() called soon.
  void call_drain() { session_->posted(*this); }
  // The first call in the destructor of the whole object: until it returns, the session may call virtual functions.
  void leave_session();

  const std::shared_ptr<Session> session_;
  ProtocolStream& stream_;
  std::atomic<bool> closing_{false};  // drain() drops the posts that are left

 private:
  using Range = std::span<const std::byte>;

  Unfinished unfinished() const override;
  bool holds(Range range) const override;
  bool post_held(protocol::SessionProtocol& session);
  Result<Progress> finish(Request& request);

  SpscRing<Request*> posts_;
  SlotPool<Request> requests_;
  std::vector<Range> maybe_in_use_;  // memory of requests that ended in an error: a lane may still touch it
  Request* held_ = nullptr;          // popped by drain() when the session had no room; null: none
};

class SendEnd final : public StreamEnd<SendStream, protocol::SendStream, const std::byte> {
 public:
  using StreamEnd::StreamEnd;
  ~SendEnd() override { leave_session(); }
  Result<Request*> post(const void* data, std::size_t size, std::uint64_t tag = 0, std::uint64_t order = 0) override {
    return enqueue(static_cast<const std::byte*>(data), size, {.tag = tag, .order = order});
  }
  void expedite(std::uint64_t order) override;

 private:
  bool drain(protocol::SessionProtocol& session) override;

  std::atomic<std::uint64_t> expedited_below_{0};  // orders below this are expedited, by the caller
  std::uint64_t announced_below_ = 0;              // as passed to the session; drain() only
};

class RecvEnd final : public StreamEnd<RecvStream, protocol::RecvStream, std::byte> {
 public:
  using StreamEnd::StreamEnd;
  ~RecvEnd() override { leave_session(); }
  Result<Request*> post(void* data, std::size_t capacity, Reading reading = Reading::when_done) override {
    return enqueue(static_cast<std::byte*>(data), capacity, {.reading = reading});
  }
};

}  // namespace railweave::engine
