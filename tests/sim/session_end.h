// One end of a session on simulated lanes: the shipped SharedProtocol and SessionLanes in virtual time, by the clock of
// its host. Drives and looks as the engine's Session and SessionWatch do, and decides nothing about lanes.
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

  // Called from pump(), never from within the session.
  std::function<void()> on_pumped;  // requests may have ended
  std::function<void(const protocol::Event&)> on_event;
  std::function<void()> on_acks_waived;
  std::function<void()> on_lanes_wanted;                 // whoever dials or asks looks what is to be done
  std::function<void(const Status& why)> on_over;        // the engine would end the session: end_with() does
  std::function<void(protocol::LaneId)> on_lane_begins;  // begin_lane()
  std::function<void()> on_lane_stands;                  // its wire has made one
  // What passes on its lanes.
  using Passing = LaneWatch::Passing;
  LaneWatch& watch() { return watch_; }

  const std::string& name() const { return watch_.name; }
  Host& host() { return host_; }
  protocol::SessionProtocol& session() { return *protocol_.lock(); }
  engine::SessionLanes& lanes() { return lanes_; }
  // For the caller's numbering of what it sends.
  std::uint64_t next_order() { return orders_++; }

  // Both ends agreed on a lane. Its wire takes a while to make it.
  void begin_lane(protocol::LaneId id, engine::RailPair rails, std::unique_ptr<wire::SimLane> lane, bool doubtful);
  // One of that number stands, or stood, or was on its way.
  bool had_lane(protocol::LaneId id) const { return id < begun_.size() && begun_[id]; }
  // As if SessionHealth had said so now, and nobody came to it for a while. No effect when the lane is gone by then,
  // whatever has its place.
  void give_up(protocol::LaneId id, Nanos late_by = Nanos(0));
  void reset_lane(protocol::LaneId id);
  // As if something between the hosts had ended all its connections.
  void reset_lanes();
  struct OpenLane {
    protocol::LaneId id;
    engine::RailPair rails;
    const wire::SimLink* link;
  };
  // By number.
  std::vector<OpenLane> open_lanes() const;
  // A link of the end's own host went up or down.
  void set_link(int rail, bool up);

  // --- ending
  // Ends every request; nothing moves here any more.
  void end_with(const Status& why);
  bool over() const { return protocol_.is_over(); }
  // GOODBYE, half-close, drain, close: a second at most.
  void leave();
  bool says_goodbye() const { return says_goodbye_; }
  // The process ends between two instructions; its kernel closes what was open. Or with the host: nobody closes
  // anything.
  void die(bool with_host);
  bool is_dead() const { return dead_; }

  // After any call to session(): the lanes look at it soon.
  void touch();
  // Nobody calls this end until then.
  void sleep_until(TimePoint when) { asleep_until_ = when; }
  void wake_up() {
    asleep_until_ = net_.now();
    touch();
  }
  // No lane reads or writes that memory of the stream any more.
  void withdraw(protocol::StreamId stream, bool sends, std::span<const std::byte> range) {
    lanes_.withdraw(stream, sends, range);
  }

  std::uint64_t bytes_moved() const { return watch_.bytes_moved; }
  std::uint64_t bytes_consumed() const { return watch_.bytes_consumed; }
  std::uint64_t segments_taken() const { return watch_.segments_taken; }
  // For messages: what waits, and what each lane holds.
  std::string state();

 private:
  // --- the owner of its lanes
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
  std::vector<bool> begun_;  // lanes, by number
  TimePoint next_pump_ = TimePoint::max(), next_poll_ = TimePoint::max(), asleep_until_{};
  Nanos pace_{};
  bool lane_wanted_ = false, says_goodbye_ = false, half_closed_ = false, dead_ = false;
  std::uint64_t orders_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // events of the network may come later
  engine::SessionLanes lanes_;                                        // goes first
};

}  // namespace railweave::sim
