// Streams between being asked for and being usable: what connectors and listeners wait on.
// Threads: any; each object has its own mutex, taken after a session's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "engine/stream_end.h"
#include "railweave/endpoint.h"

namespace railweave::engine {

// What a connector waits for: first a session, then the peer's answer to OPEN.
struct PendingStream {
  const std::uint32_t listener;
  const std::uint64_t rail_mask;
  const Class priority;

  PendingStream(std::uint32_t listener_id, std::uint64_t rails, Class stream_class)
      : listener(listener_id), rail_mask(rails), priority(stream_class) {}

  void fail(const Status& why);
  void on_opening(std::shared_ptr<LiveSession> in, std::unique_ptr<SendEnd> end);
  void on_opened();
  // The connector gave up: the stream, if there is one, closes.
  void give_up();
  bool given_up();
  // Null while nothing is decided.
  Result<std::unique_ptr<SendEnd>> take();
  // The session to drive meanwhile, or null.
  std::shared_ptr<LiveSession> session();

 private:
  std::mutex mutex_;
  bool given_up_ = false, opened_ = false;
  Status status_;
  std::shared_ptr<LiveSession> session_;
  std::unique_ptr<SendEnd> end_;
};

// Streams that arrived for one listener and were not accepted yet. Bounded.
class ListenQueue {
 public:
  static constexpr std::size_t kStreamsMax = 1024;

  ListenQueue(std::uint32_t id, std::uint64_t rail_mask) : id_(id), rail_mask_(rail_mask) {}

  std::uint32_t id() const { return id_; }
  std::uint64_t rail_mask() const { return rail_mask_; }
  bool has_room();
  void push(std::unique_ptr<RecvEnd> end);
  std::unique_ptr<RecvEnd> pop();      // null when empty
  void close();                        // and what is in it

 private:
  const std::uint32_t id_;
  const std::uint64_t rail_mask_;
  std::mutex mutex_;
  bool closed_ = false;
  std::deque<std::unique_ptr<RecvEnd>> ends_;
};

}  // namespace railweave::engine
