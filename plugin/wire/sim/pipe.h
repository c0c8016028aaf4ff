// One direction of one simulated lane: what a reliable transport does between two ends, as the lane sees it. Cargo goes
// in whole, travels in pieces over the link, arrives in order, and is acknowledged one delay later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "railweave/units.h"
#include "wire/wire.h"

namespace railweave::wire {

class SimConnection;
class SimLink;
class SimNetwork;

enum class CargoKind {
  stream,  // headers and payload, copied as a kernel would
  end,     // nothing comes after this
};

struct Cargo {
  CargoKind kind = CargoKind::stream;
  std::span<const std::byte> bytes;  // not sent yet; of `own`
  std::unique_ptr<std::byte[]> own;
};

struct SimPiece {
  CargoKind kind = CargoKind::stream;
  std::vector<std::byte> bytes;
  TimePoint sent_at{};
};

class SimPipe {
 public:
  // `direction`: the number of the sending end.
  SimPipe(SimNetwork& net, SimLink& link, SimConnection& connection, int direction)
      : net_(net), link_(link), connection_(connection), direction_(direction) {}

  void put(Cargo cargo);
  // The unsent rest is forgotten; what is under way arrives.
  void drop_unsent() { cargo_.clear(); }
  // Nothing arrives any more, nothing is acknowledged.
  void stop();
  // The receiver took bytes out of its buffer: the sender hears of it one delay later.
  void was_read(std::size_t bytes);

  std::uint64_t put_bytes() const { return put_; }
  std::uint64_t acknowledged_bytes() const { return acknowledged_; }
  // On the network and not acknowledged; since when there is anything.
  bool is_owed() const { return sent_ > acknowledged_; }
  TimePoint owed_since() const { return owed_since_; }
  // There is something to send, and the receiver's buffer is full.
  bool is_shut_out() const { return !stopped_ && !cargo_.empty() && !can_send(); }
  Nanos min_rtt() const { return min_rtt_; }
  Nanos smoothed_rtt() const { return smoothed_rtt_; }

  // For the link.
  bool can_send() const;
  void send_piece();
  void no_longer_waiting() { waiting_ = false; }

 private:
  std::size_t window() const;  // bytes the receiver's buffer has room for
  void kick();
  std::shared_ptr<SimPipe> hold();  // keeps the connection
  void transmitted(std::shared_ptr<SimPiece> piece);
  void arrived(std::shared_ptr<SimPiece> piece);
  void acknowledged(const SimPiece& piece);

  SimNetwork& net_;
  SimLink& link_;              // of the sending end
  SimConnection& connection_;  // owns this
  const int direction_;

  std::deque<Cargo> cargo_;  // front: partly sent
  bool waiting_ = false;     // for the link
  bool stopped_ = false;
  bool lost_ = false;                                    // some of it was, on its way: nothing after it arrives
  std::uint64_t put_ = 0, sent_ = 0, acknowledged_ = 0;  // weight ever
  TimePoint owed_since_{};
  std::uint64_t buffered_sent_ = 0, buffered_read_ = 0;  // of what goes to the receiver's buffer
  TimePoint last_arrival_{};
  Nanos min_rtt_{0}, smoothed_rtt_{0};
};

}  // namespace railweave::wire
