// Polls lanes for SessionHealth, and carries out its verdicts.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "engine/session/session_lanes.h"

namespace railweave::engine {
namespace {

constexpr Nanos kHealthPollEvery = std::chrono::milliseconds(50);

std::string seconds_told(Nanos time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

std::string_view cause_logged(HealthVerdict::Why why) {
  switch (why) {
    case HealthVerdict::Why::too_slow: return "too slow, the others carry what it holds";
    case HealthVerdict::Why::link_down: return "link down";
    default: return "no answer to what was sent";
  }
}

bool sends_frame(const HealthVerdict& verdict) {
  using Kind = HealthVerdict::Kind;
  return verdict.kind == Kind::send_any_frame || verdict.kind == Kind::send_heartbeat_probe;
}

}  // namespace

void SessionLanes::poll(bool at_once) {
  const TimePoint t = protocol_.now();
  if (protocol_.is_over()) pending_.clear();
  if (!protocol_.is_over()) {
    poll_pending();
    poll_ending();
    retransmit_late_control(t);
  }
  if (protocol_.is_over() || (!at_once && t - health_polled_at_ < kHealthPollEvery)) return;
  health_polled_at_ = t;
  SessionHealth::Observations seen = observe();
  SessionHealth::Verdicts verdicts;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    verdicts = health_(locked).find_silent_lanes(t, seen, locked->live_lanes());
  }
  if (!carry_out(verdicts)) return;
  end_if_grace_is_over(t);  // after the verdicts, which show whether lanes are heard
  if (protocol_.is_over()) return;
  drop_gone(seen);
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    for (LaneObservation& lane : seen) {
      lane.believed = locked->rate_of(lane.id);
      lane.holds_data = locked->holds_data(lane.id, lane.health.acknowledged_bytes);
    }
    verdicts = health_(locked).find_slow_lanes(t, seen, locked->consumed_frames());
  }
  if (!carry_out(verdicts)) return;
  drop_gone(seen);
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    verdicts = health_(locked).find_stopped_peer(t, seen, locked->consumed_frames(), owner_.is_waited_for(locked));
  }
  carry_out(verdicts);
}

void SessionLanes::poll_ending() {
  for (int i = 0; i < table_.count(); ++i) {
    LaneDriver& lane = table_.at(i);
    if (!lane.is_ending()) continue;
    const LaneDriver::Claim claim(lane);
    if (lane.is_ending()) finish(lane);
  }
}

// Retransmits by another lane the control frames that the peer's kernel did not acknowledge in time (decision D8).
void SessionLanes::retransmit_late_control(TimePoint t) {
  if (t - control_polled_at_ < protocol::SessionProtocol::kLatePoll || !protocol_.watches_control()) return;
  control_polled_at_ = t;
  const TimePoint before = protocol_.now();
  std::vector<protocol::SessionProtocol::ReportedLane> lanes;
  table_.each_claimed([&](LaneDriver& lane) {
    lane.assert_claimed();
    if (lane.is_open()) lanes.push_back({lane.id(), lane.report()});
  });
  const SharedProtocol::Locked locked = protocol_.lock();
  if (locked->retransmit_late_control(before, protocol_.now(), lanes) > 0) locked.publish();
}

SessionHealth::Observations SessionLanes::observe() const {
  SessionHealth::Observations seen;
  for (int i = 0; i < table_.count(); ++i) {
    LaneDriver& lane = table_.at(i);
    const LaneDriver::Claim claim(lane);
    if (!lane.is_open()) continue;
    LaneObservation& observation = seen.emplace_back();
    observation.lane = {i, lane.generation()};
    observation.id = lane.id();
    observation.link_down = !has_link(lane.rails().local);
    observation.ack_status = lane.ack_status();
    observation.health = lane.health();
  }
  return seen;
}

void SessionLanes::drop_gone(SessionHealth::Observations& seen) const {
  std::erase_if(seen, [this](const LaneObservation& lane) { return !table_.find(lane.lane); });
}

bool SessionLanes::carry_out(const SessionHealth::Verdicts& verdicts) {
  using Kind = HealthVerdict::Kind;
  using Why = HealthVerdict::Why;
  for (const HealthVerdict& verdict : verdicts)
    if (verdict.kind == Kind::give_up)
      table_.with_lane(verdict.lane, [&](LaneDriver& lane) {
        lane.assert_claimed();
        end(lane, given_up(lane, cause_logged(verdict.why), verdict.why == Why::too_slow));
      });
  if (protocol_.is_over()) return false;  // the last lane is gone, and no other is waited for
  send_frames(verdicts);
  for (const HealthVerdict& verdict : verdicts) {
    switch (verdict.kind) {
      case Kind::give_up:
      case Kind::send_any_frame:
      case Kind::send_heartbeat_probe: break;
      case Kind::heartbeat_probe_sent: note_heartbeat_probe(verdicts); break;
      case Kind::peer_silent: log_silence(true); break;
      case Kind::peer_answers: log_silence(false); break;
      case Kind::peer_stopped: log_stopped(); break;
      case Kind::reconnect: owner_.on_lane_wanted(); break;
      case Kind::peer_lost:
        owner_.lose("no answer on " + table_.rail_names() + " for " + seconds_told(options_.health.peer_timeout) +
                        " s (RAILWEAVE_PEER_TIMEOUT)",
                    ETIMEDOUT);
        return false;
      case Kind::peer_stalled:
        owner_.lose("its kernel answers, but it has not for " + seconds_told(options_.health.stall_timeout) +
                        " s (RAILWEAVE_STALL_TIMEOUT)",
                    ETIMEDOUT);
        return false;
    }
  }
  return true;
}

void SessionLanes::send_frames(const SessionHealth::Verdicts& verdicts) {
  if (std::ranges::none_of(verdicts, sends_frame)) return;
  const SharedProtocol::Locked locked = protocol_.lock();
  for (const HealthVerdict& verdict : verdicts) {
    if (!sends_frame(verdict) || !table_.find(verdict.lane)) continue;
    verdict.kind == HealthVerdict::Kind::send_any_frame ? locked->send_any_frame(verdict.id)
                                                        : locked->send_heartbeat_probe(verdict.id);
  }
  locked.publish();
}

// Notes where the heartbeat probe is on each lane: behind all bytes that the lane holds now.
void SessionLanes::note_heartbeat_probe(const SessionHealth::Verdicts& verdicts) {
  SessionHealth::Observations by;
  for (const HealthVerdict& verdict : verdicts) {
    if (!sends_frame(verdict)) continue;
    table_.with_lane(verdict.lane, [&](LaneDriver& lane) {
      lane.assert_claimed();
      LaneObservation& observation = by.emplace_back();
      observation.lane = verdict.lane;
      observation.id = verdict.id;
      observation.health = lane.health();
    });
  }
  const SharedProtocol::Locked locked = protocol_.lock();
  health_(locked).on_heartbeat_probe_sent(by);
}

void SessionLanes::set_link(int rail, bool up) {
  const std::uint64_t bit = std::uint64_t{1} << rail;
  links_down_ = up ? links_down_ & ~bit : links_down_ | bit;
  poll(true);
  owner_.on_lane_wanted();
}

// Ends the session in two cases. No lane is left, and the reconnect grace is over; or no lane is heard, and the peer's
// host has answered that the peer is gone.
void SessionLanes::end_if_grace_is_over(TimePoint t) {
  Status why;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    why = health_(locked).grace_over(t, locked->live_lanes());
  }
  if (!why.ok()) owner_.fail(why);
}

// Many peers may fall silent at once: the owner bounds the lines at WARN to a few peers.
void SessionLanes::log_silence(bool is_silent) {
  const std::string line =
      is_silent ? "no answer from " + peer_ + " on " + table_.rail_names() : peer_ + " answers again";
  if (owner_.may_warn_of_silence(is_silent))
    RW_WARN(net, "{}", line);
  else
    RW_INFO(net, "{}", line);
}

void SessionLanes::log_stopped() const {
  RW_WARN(net,
          "{} has not answered for {} s, though its kernel does: stopped, in a debugger, without time on its cores, or "
          "are large packets lost on every rail (a smaller MTU on the way)?",
          peer_, seconds_told(PeerHeartbeat::kStoppedAfter));
}

// Logs why the lane is slow: statistics show only that the lane is slow.
void SessionLanes::on_overridden(protocol::LaneId id, const protocol::CreditWindow::Override& how) const {
  const auto bound_text = [](std::uint64_t bound, const char* unit) {
    return bound == protocol::Credit::kNone ? "none" : std::to_string(bound) + unit;
  };
  table_.with_lane(id, [&](LaneDriver& lane) {
    lane.assert_claimed();
    RW_WARN(
        net,
        "lane {} to {} on rail {}, to {}: the receiver's credit window has allowed nothing for {:.1f} s (window: {}, "
        "limit: {}); the lane sends one segment a second anyway. Is {} stopped, without time on its cores, or of "
        "another build? railweave info: MAY SEND here, LETS COME there",
        id, peer_, lane.rail(), lane.remote_address(), std::chrono::duration<double>(how.let_nothing_go).count(),
        bound_text(how.said.window_bytes, " bytes"), bound_text(how.said.limit, " bytes ever"), peer_);
  });
}

bool SessionLanes::peer_is_silent() {
  const SharedProtocol::Locked locked = protocol_.lock();
  return health_(locked).peer_is_silent();
}

std::vector<RailPair> SessionLanes::pairs_that_carried() {
  const SharedProtocol::Locked locked = protocol_.lock();
  return health_(locked).pairs_that_carried();
}

void SessionLanes::note_lost_pairs() {
  const std::vector<RailPair> open = table_.rails_of_lanes();
  const SharedProtocol::Locked locked = protocol_.lock();
  health_(locked).note_lost_pairs(protocol_.now(), open);
}

}  // namespace railweave::engine
