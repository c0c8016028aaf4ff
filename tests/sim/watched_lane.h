// WatchedLane sits between a simulated wire and the engine's LaneDriver. It observes every frame, and checks the
// promises of both. It keeps no lane alive and gives none up.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/reconcile/lane_plan.h"
#include "protocol/session_protocol.h"
#include "tests/sim/host.h"
#include "tests/sim/memory_watch.h"
#include "tests/sim/turn_rules.h"
#include "wire/port.h"
#include "wire/sim/network.h"

namespace railweave::sim {

// Reports something that must not happen. The first report counts.
using Fail = std::function<void(const std::string&)>;

class WatchedLane;

// What the lanes of one end of a session share. Outlives the lanes.
struct LaneWatch {
  enum class Passing { taken, written, met, consumed };  // met: the header arrived

  LaneWatch(MemoryWatch& whose, std::string of, const HostTime& by, Nanos timeout, std::uint64_t seed, Fail to);

  std::function<void()> on_gap;                      // between a header and its payload: the world may post
  std::function<void(const std::string&)> on_trace;  // describes every frame
  std::function<void(Passing, const protocol::FrameHeader&)> on_frame;
  std::function<std::vector<const protocol::SendStream*>()> sending_streams;
  std::function<protocol::SessionProtocol&()> session;
  // Returns the budget of one read: mostly large, at times so small that the read ends within a header or a segment.
  std::size_t budget();

  MemoryWatch& memory;
  const std::string name;
  const HostTime& time;
  const Nanos peer_timeout;
  std::mt19937_64 random;
  const bool one_at_a_time;  // lanes take one frame at a time, and TurnRules checks each
  const bool zero_copy;      // lanes refer to payload until the peer's kernel has it
  const Fail fail;
  TurnRules turns;
  std::map<protocol::LaneId, WatchedLane*> lanes;  // lanes that exist
  // lanes whose wires had not let go of them when they were destroyed
  std::set<protocol::LaneId> let_go_early;
  int pending = 0;              // lanes that are being made
  bool ignores_memory = false;  // the process is gone, with its memory
  std::uint64_t bytes_consumed = 0, segments_taken = 0;
  // bytes that arrived, without KEEP frames: ends that wait exchange those for ever
  std::uint64_t bytes_moved = 0;
};

class WatchedLane final : public wire::Lane, private wire::LaneHandler {
 public:
  WatchedLane(LaneWatch& watch, protocol::LaneId id, std::unique_ptr<wire::SimLane> lane);
  // Checks the lent payload: until now the kernel could send it again.
  ~WatchedLane() override;

  wire::SimLink& link() const { return lane_->link(); }
  bool has_news() const { return lane_->has_news() || !broken_.ok(); }
  // The kernel lets go of the oldest lent payload, because the peer's kernel has it.
  bool lets_go() const;
  // As if something between the hosts had ended the connection.
  void reset();
  // Checks that lent payload has not changed.
  void check_lent();

  Result<wire::Moved> read(wire::LaneHandler& handler, std::size_t budget_bytes) override;
  Result<wire::Moved> write(wire::LaneHandler& handler) override;
  wire::LaneEnd why_ended() const override { return broken_.ok() ? lane_->why_ended() : broken_by_; }
  bool end() override { return lane_->end(); }
  bool at_frame_boundary() const override { return lane_->at_frame_boundary(); }
  bool withdraw_payload(std::span<const std::byte> range) override;
  void withdraw_target(std::span<const std::byte> range) override;
  wire::LaneHealth health() override { return lane_->health(); }
  // Times are by the host's clock. An idle lane breaks if the peer's kernel answers no keepalive, as a TCP lane does.
  wire::AckStatus ack_status() override;
  const std::shared_ptr<wire::LaneMetrics>& metrics() const override { return lane_->metrics(); }
  Status finish_writing() override { return lane_->finish_writing(); }
  int descriptor() const override { return -1; }

 private:
  struct Lent {  // payload that a lane refers to, with its digest when it was taken
    protocol::FrameHeader header;
    std::span<const std::byte> payload;
    std::uint64_t was = 0;
    std::uint64_t acknowledged_at = 0;  // acknowledged bytes of the lane that cover the payload
  };

  std::size_t next_frames(std::span<wire::OutFrame> frames) override;
  void written(std::size_t n) override;
  void released(std::size_t n) override;
  Result<wire::Target> header(std::span<const std::byte, wire::kHeaderBytes> header) override;
  Status consumed(std::span<const std::byte, wire::kHeaderBytes> header) override;

  void note_taken(std::span<const wire::OutFrame> frames);
  void check_fence(const protocol::FrameHeader& fence);
  void note_landed();
  void let_go(wire::LaneHandler& handler);
  void check(const Lent& lent);
  void wrong(const std::string& what);
  void refused(const Status& why);
  std::string describe(const char* what, const protocol::FrameHeader& header) const;

  LaneWatch& watch_;
  const protocol::LaneId id_;
  const std::unique_ptr<wire::SimLane> lane_;
  wire::LaneHandler* handler_ = nullptr;  // of the current call
  Status broken_;
  wire::LaneEnd broken_by_ = wire::LaneEnd::closed;
  std::deque<protocol::FrameHeader> taken_;  // taken and not written
  std::deque<Lent> lent_;                    // zero-copy: not let go of; the first so many are written
  std::size_t written_of_lent_ = 0;
  std::uint64_t frames_taken_ = 0, peer_consumed_ = 0;
  protocol::FrameHeader incoming_;
  std::span<std::byte> place_;  // where its payload lands
};

// A lane that its wire makes at `made_at`. If its link is cut by then, the wire makes none.
class PendingSimLane final : public wire::PendingLane {
 public:
  using Made = std::function<void(WatchedLane&, wire::SimLane&)>;
  PendingSimLane(const wire::SimNetwork& net, LaneWatch& watch, protocol::LaneId id,
                 std::unique_ptr<wire::SimLane> lane, TimePoint made_at, Made made)
      : net_(net), watch_(watch), id_(id), lane_(std::move(lane)), made_at_(made_at), made_(std::move(made)) {
    ++watch_.pending;
  }
  ~PendingSimLane() override { --watch_.pending; }
  Result<wire::Offer> offer() override { return wire::Offer{}; }
  Status complete(wire::Offer) override { return {}; }
  void start(wire::Bootstrap) override {}
  Result<std::unique_ptr<wire::Lane>> poll() override;

 private:
  const wire::SimNetwork& net_;
  LaneWatch& watch_;
  const protocol::LaneId id_;
  std::unique_ptr<wire::SimLane> lane_;
  const TimePoint made_at_;  // by the world's clock
  const Made made_;
};

}  // namespace railweave::sim
