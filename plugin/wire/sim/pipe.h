// SimPipe is one direction of one simulated lane: a reliable transport as the lane sees it. Cargo enters whole, travels
// over the link in pieces, arrives in order, and is acknowledged one delay later. Threads: the network's.
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
  stream,  // headers and payload, copied as a kernel does
  end,     // the end of the stream: no cargo follows
};

struct Cargo {
  CargoKind kind = CargoKind::stream;
  std::span<const std::byte> bytes;  // the unsent part of `own`
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
  // Discards the unsent cargo. Pieces in flight still arrive.
  void drop_unsent() { cargo_.clear(); }
  // Stops the pipe for good: no more arrivals and acknowledgements.
  void stop();
  // The receiver took `bytes` out of its buffer. The sender learns this one delay later.
  void was_read(std::size_t bytes);

  std::uint64_t put_bytes() const { return put_; }                    // since the lane began
  std::uint64_t acknowledged_bytes() const { return acknowledged_; }  // since the lane began
  // Bytes are on the network and not acknowledged. owed_since(): the first of them, or the last acknowledgement.
  bool is_owed() const { return sent_ > acknowledged_; }
  TimePoint owed_since() const { return owed_since_; }
  // Cargo waits, and the receiver's buffer is full.
  bool is_shut_out() const { return !stopped_ && !cargo_.empty() && !can_send(); }
  Nanos min_rtt() const { return min_rtt_; }            // 0: not known
  Nanos smoothed_rtt() const { return smoothed_rtt_; }  // 0: not known

  // --- called by the link
  bool can_send() const;
  void send_piece();
  void no_longer_waiting() { waiting_ = false; }

 private:
  std::size_t window() const;  // bytes of room in the receiver's buffer
  void kick();
  std::shared_ptr<SimPipe> hold();  // a reference that keeps the connection alive
  void transmitted(std::shared_ptr<SimPiece> piece);
  void arrived(std::shared_ptr<SimPiece> piece);
  void acknowledged(const SimPiece& piece);

  SimNetwork& net_;
  SimLink& link_;              // the sending end's link
  SimConnection& connection_;  // owns this
  const int direction_;

  std::deque<Cargo> cargo_;  // front: partly sent
  bool waiting_ = false;     // registered with the link
  bool stopped_ = false;
  bool lost_ = false;                                    // a piece was lost; no later piece arrives
  std::uint64_t put_ = 0, sent_ = 0, acknowledged_ = 0;  // bytes since the lane began
  TimePoint owed_since_{};
  std::uint64_t buffered_sent_ = 0, buffered_read_ = 0;  // bytes sent to the receiver's buffer; read from it
  TimePoint last_arrival_{};                             // latest scheduled arrival; later pieces do not overtake
  Nanos min_rtt_{0}, smoothed_rtt_{0};
};

}  // namespace railweave::wire
