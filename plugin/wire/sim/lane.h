// SimLane is one end of a simulated lane, with Lane's contract. SimNetwork::connect() (network.h) makes pairs of lanes.
//
// Bytes arrive in pieces of random size, with pauses between them. After a cut of the link, read() first returns the
// bytes that had arrived, then the error. Destroying a lane with unread input resets the connection, as TCP does. A
// lane destroyed before it has ended is gone at once, because a destructor cannot wait in virtual time.
// Threads: the network's. read() and write() alone call the handler; SimNetwork::step() alone calls on_ready.
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

  // Called after a change: input, acknowledgements, the end or loss of the lane, room to write. The callee should call
  // read() until blocked, then write(). It may destroy this lane or others.
  std::function<void(Lane&)> on_ready;

  // The lane's link; of two links the one at this end. For cut(), silence() and set_rate().
  SimLink& link() const;

  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) override;
  Result<Moved> write(LaneHandler& handler) override;
  LaneEnd why_ended() const override;
  bool end() override;
  bool at_frame_boundary() const override;
  bool withdraw_payload(std::span<const std::byte> range) override;
  void withdraw_target(std::span<const std::byte> range) override;
  LaneHealth health() override;
  // May send a probe to the peer's kernel: for a closed window every 200 ms, on an idle lane once a second.
  AckStatus ack_status() override;
  // True: read() would return bytes or an error, or a taken frame waits to be written. False: on_ready announced
  // acknowledgements only.
  bool has_news() const;
  // Runs `what` at the other end one delay later, or once silent links resume: a message before the first frame.
  void send_word(std::function<void()> what);
  const std::shared_ptr<LaneMetrics>& metrics() const override { return metrics_; }
  Status finish_writing() override;
  int descriptor() const override { return -1; }

 private:
  const std::shared_ptr<SimConnection> connection_;
  const int end_;
  const std::shared_ptr<LaneMetrics> metrics_;
  TimePoint probed_at_{}, owes_since_{};  // the last probe; the first ack_status() that found an answer owed
  TimePoint ended_at_{};                  // when the lane has ended; TimePoint{}: end() was not called
  bool owed_ = false;                     // the last ack_status() found an answer owed
};

}  // namespace railweave::wire
