// SessionEnd: one end of a session on simulated lanes. Runs the shipped SharedProtocol and SessionLanes in virtual
// time, by the clock of its host. Polls and drives as the engine's Session and SessionWatch do, and decides nothing
// about lanes.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/reconcile/lane_plan.h"
#include "engine/session/session_lanes.h"
#include "engine/session/shared_protocol.h"
#include "protocol/session_protocol.h"
#include "tests/sim/host.h"
#include "tests/sim/memory_watch.h"
#include "tests/sim/watched_lane.h"
#include "wire/sim/network.h"

namespace railweave::sim {

class SessionEnd final : private engine::LanesOwner {
 public:
  SessionEnd(wire::SimNetwork& net, MemoryWatch& memory, std::string name, Host& host,
             const protocol::SessionOptions& options, Nanos peer_timeout, std::uint64_t seed, Fail fail);
  ~SessionEnd();
  SessionEnd(const SessionEnd&) = delete;
  SessionEnd& operator=(const SessionEnd&) = delete;

  // Callbacks of the world, never called from within the protocol.
  std::function<void()> on_pumped;  // requests may have ended
  std::function<void(const protocol::Event&)> on_event;
  std::function<void()> on_acks_waived;
  std::function<void()> on_lanes_wanted;                 // LaneReconciler or PeerProbe must poll
  std::function<void(const Status& why)> on_over;        // the engine would end the session; end_with() does so
  std::function<void(protocol::LaneId)> on_lane_begins;  // begin_lane() was called
  std::function<void()> on_lane_stands;                  // a wire has made a lane
  // What its lanes share, and how frames pass there.
  using Passing = LaneWatch::Passing;
  LaneWatch& watch() { return watch_; }

  const std::string& name() const { return watch_.name; }
  Host& host() { return host_; }
  protocol::SessionProtocol& session() { return *protocol_.lock(); }
  engine::SessionLanes& lanes() { return lanes_; }
  // Returns the next order number for what this end sends.
  std::uint64_t next_order() { return orders_++; }

  // Begins a lane on which both ends agreed. Its wire takes up to 20 ms to make it.
  void begin_lane(protocol::LaneId id, engine::RailPair rails, std::unique_ptr<wire::SimLane> lane, bool doubtful);
  // begin_lane() was called for that number, whatever became of the lane.
  bool had_lane(protocol::LaneId id) const { return id < begun_.size() && begun_[id]; }
  // Carries out a verdict of SessionHealth to give the lane up, `late_by` after it was made. No effect if the lane is
  // gone by then, whatever lane has its place.
  void give_up(protocol::LaneId id, Nanos late_by = Nanos(0));
  void reset_lane(protocol::LaneId id);
  // As if something between the hosts had ended all connections of this end.
  void reset_lanes();
  struct OpenLane {
    protocol::LaneId id;
    engine::RailPair rails;
    const wire::SimLink* link;
  };
  // The open lanes, by number.
  std::vector<OpenLane> open_lanes() const;
  // The link of a rail of the end's own host went up or down.
  void set_link(int rail, bool up);

  // --- ending
  // Ends the session: every request ends with `why`, and no lane moves bytes any more.
  void end_with(const Status& why);
  bool over() const { return protocol_.is_over(); }
  // Leaves: GOODBYE, half-close, drain, close. Takes a second at most.
  void leave();
  bool says_goodbye() const { return says_goodbye_; }
  // The process ends between two instructions. Its kernel closes its connections, unless the host ends, too
  // (`with_host`).
  void die(bool with_host);
  bool is_dead() const { return dead_; }

  // Call after each change by way of session(): publishes the change, and pumps soon.
  void touch();
  // This end is not pumped until `when`.
  void sleep_until(TimePoint when) { asleep_until_ = when; }
  void wake_up() {
    asleep_until_ = net_.now();
    touch();
  }
  // Withdraws that memory of the stream: no lane reads or writes it any more.
  void withdraw(protocol::StreamId stream, bool sends, std::span<const std::byte> range) {
    lanes_.withdraw(stream, sends, range);
  }

  std::uint64_t bytes_moved() const { return watch_.bytes_moved; }
  std::uint64_t bytes_consumed() const { return watch_.bytes_consumed; }
  std::uint64_t segments_taken() const { return watch_.segments_taken; }
  // Describes for failure messages what waits, and what each lane holds.
  std::string state();

 private:
  // --- LanesOwner
  bool is_waited_for(const engine::SharedProtocol::Locked& locked) override;
  void wake() noexcept override { touch(); }
  void on_lane_wanted() override;
  void on_lane_came() override {
    if (on_lane_stands) on_lane_stands();
  }
  bool may_warn_of_silence(bool) override { return false; }
  void log_loss(const Status&) override {}
  void fail(const Status& why) override;
  void lose(const std::string& why, int system_errno) override;

  void carry_out(const engine::HealthVerdict& verdict);
  void close_lanes();
  void pump_in(Nanos delay);
  void pump();
  bool drive();
  void handle_events();
  void poll_later();
  void go_on_leaving();
  bool is_busy() { return protocol_.has_work() || lanes_.any_is_pending() || lanes_.table().any_is_ending(); }

  wire::SimNetwork& net_;
  Host& host_;
  const HostTime time_;
  LaneWatch watch_;
  engine::SharedProtocol protocol_;
  std::vector<bool> begun_;  // by lane number
  TimePoint next_pump_ = TimePoint::max(), next_poll_ = TimePoint::max(), asleep_until_{};
  Nanos pace_{};
  bool lane_wanted_ = false, says_goodbye_ = false, half_closed_ = false, dead_ = false;
  std::uint64_t orders_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // false: destroyed, for events that run later
  engine::SessionLanes lanes_;                                        // destroyed first
};

}  // namespace railweave::sim
