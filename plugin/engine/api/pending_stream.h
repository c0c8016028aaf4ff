// PendingStream: a stream that a connector waits for.
// Threads: any. Each object has its own mutex, taken after a session's.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "engine/api/stream_end.h"
#include "engine/connect/handle.h"
#include "railweave/endpoint.h"

namespace railweave::engine {

// The connector waits first for a session, then for the peer's answer to OPEN.
struct PendingStream {
  const HandleContent peer;
  const int traffic_class;
  const std::uint64_t rail_mask;
  const Priority priority;
  const TimePoint deadline;  // of all attempts for this stream

  PendingStream(HandleContent whom, int octet, std::uint64_t rails, Priority stream_priority, TimePoint until)
      : peer(std::move(whom)), traffic_class(octet), rail_mask(rails), priority(stream_priority), deadline(until) {}

  // No effect once the stream is opened or has failed.
  void fail(const Status& why);
  // The session `in` has sent OPEN; `end` is the stream's end.
  void on_opening(std::shared_ptr<Session> in, std::unique_ptr<SendEnd> end);
  // The peer accepted the stream.
  void on_opened();
  // The session ended before the peer said anything in it: the stream may be opened in another session.
  void leave_session();
  // The connector gave up: the stream, if there is one, closes.
  void give_up();
  bool given_up();
  // Returns the open stream, once. Null: the peer has not answered yet. Errors: the argument of fail().
  Result<std::unique_ptr<SendEnd>> take();
  // The session to drive while the connector waits; null: none.
  std::shared_ptr<Session> session();

 private:
  Mutex mutex_;
  bool given_up_ RW_GUARDED_BY(mutex_) = false;
  bool opened_ RW_GUARDED_BY(mutex_) = false;
  Status status_ RW_GUARDED_BY(mutex_);
  std::shared_ptr<Session> session_ RW_GUARDED_BY(mutex_);
  std::unique_ptr<SendEnd> end_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave::engine
