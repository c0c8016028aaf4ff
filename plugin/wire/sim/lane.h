// One end of a simulated lane. Keeps Lane's contract; see network.h for how to get one.
//
// Bytes arrive in pieces of random size, with pauses between them. When the link is cut, read() gives out what had
// arrived and then the error. Destroying a lane with unread input resets the connection, as TCP does. A lane that is
// destroyed before it has ended is gone at once: in virtual time nobody waits.
// The handler is called from read() and write() only; on_ready from SimNetwork::step() only.
#pragma once

#include <functional>
#include <memory>

#include "wire/wire.h"

namespace railweave::wire {

class SimConnection;
class SimLink;

class SimLane final : public Lane {
 public:
  SimLane(std::shared_ptr<SimConnection> connection, int end);
  ~SimLane() override;

  // Something changed for this lane: input, the end or loss of the lane, room to write. Then read()
  // until blocked and write(). May destroy this lane or others.
  std::function<void(Lane&)> on_ready;

  // What the lane runs over, of two the one at its end: cut(), silence(), set_rate().
  SimLink& link() const;

  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) override;
  Result<Moved> write(LaneHandler& handler) override;
  LaneEnd why_ended() const override;
  bool end() override;
  bool at_frame_boundary() const override;
  bool withdraw_payload(std::span<const std::byte> range) override;
  void withdraw_target(std::span<const std::byte> range) override;
  LaneHealth health() override;
  // Every call may send a probe to the peer's kernel: of a shut window, and of an idle lane once a second.
  AckStatus ack_status() override;
  // read() would give something or tell an error, or a frame is partly written. Else on_ready was of acknowledgements
  // only.
  bool has_news() const;
  // `what` happens at the other end, one delay later, or when the way there is open: a word before the first frame.
  void send_word(std::function<void()> what);
  const std::shared_ptr<LaneMetrics>& metrics() const override { return metrics_; }
  Status finish_writing() override;
  int descriptor() const override { return -1; }

 private:
  const std::shared_ptr<SimConnection> connection_;
  const int end_;
  const std::shared_ptr<LaneMetrics> metrics_;
  TimePoint probed_at_{}, owes_since_{};
  TimePoint ended_at_{};  // once end() was called
  bool owed_ = false;
};

}  // namespace railweave::wire
