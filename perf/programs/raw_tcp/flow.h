// One direction of one socket. Sends or receives messages back to back and rotates over its buffers, as a plugin's
// caller does, so that caches see the same access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/pages.h"
#include "railweave/status.h"

namespace railweave::perf::raw_tcp {

struct FlowPlan {
  std::size_t message_bytes = 0;
  int buffers = 1;
  std::size_t call_bytes_max = 0;  // of one recv(); 0: the rest of the message
};

class Flow {
 public:
  enum class Direction { out, in };

  // `socket` is borrowed and must outlive the flow. `memory` holds the plan's buffers, slot_bytes() each.
  Flow(int socket, Direction direction, std::string rail, const FlowPlan& plan, Pages memory);

  // Makes at most one system call. Returns true if bytes moved. Errors: the socket failed.
  Result<bool> step();
  // Outgoing flows only: sends no bytes after `total_bytes`, then half-closes the socket.
  void stop_at(std::uint64_t total_bytes) { stop_at_ = total_bytes; }
  void stop_now() { stop_at_ = moved_; }

  Direction direction() const { return direction_; }
  bool over() const { return over_; }  // out: half-closed; in: the peer half-closed
  int socket() const { return socket_; }
  const std::string& rail() const { return rail_; }
  std::uint64_t moved_bytes() const { return moved_; }
  std::uint64_t calls() const { return calls_; }

 private:
  Result<bool> send_some();
  Result<bool> receive_some();
  void advance(std::size_t n);

  int socket_;
  Direction direction_;
  std::string rail_;
  FlowPlan plan_;
  Pages memory_;
  std::byte* at_;     // in memory_
  std::size_t left_;  // bytes of the current message
  int buffer_ = 0;
  std::uint64_t moved_ = 0, calls_ = 0;
  std::uint64_t stop_at_ = ~std::uint64_t{0};
  bool over_ = false;
};

}  // namespace railweave::perf::raw_tcp
