#include "engine/health/session_health.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/error.h"

namespace railweave::engine {
namespace {

// the first malformed frame gives up its lane; a second one within this time ends the session
constexpr Nanos kMalformedMemory = std::chrono::minutes(1);

bool lane_works(const LaneObservation& seen) { return !seen.link_down && !seen.ack_status.silent_since; }

HealthVerdict about(const LaneObservation& seen, HealthVerdict::Kind kind,
                    HealthVerdict::Why why = HealthVerdict::Why::none) {
  return {.kind = kind, .why = why, .lane = seen.lane, .id = seen.id};
}

HealthVerdict about_peer(HealthVerdict::Kind kind) {
  return {.kind = kind, .why = HealthVerdict::Why::none, .lane = {}, .id = 0};
}

std::vector<std::optional<LaneLiveness>> liveness_of(const SessionHealth::Observations& lanes) {
  std::vector<std::optional<LaneLiveness>> liveness;
  for (const LaneObservation& seen : lanes) liveness.push_back(LaneLiveness{seen.ack_status, seen.link_down});
  return liveness;
}

}  // namespace

SessionHealth::SessionHealth(std::string peer, const HealthOptions& options)
    : peer_(std::move(peer)), options_(options), grace_(options.peer_timeout), heartbeat_(options.stall_timeout) {}

// --------------------------------------------------------------------------------------------------------- lanes come

bool SessionHealth::lane_came(TimePoint now, int live_lanes) {
  if (live_lanes == 0) grace_.lane_restored(now);
  pairs_.heard(now);
  pairs_.forget_denials();
  last_try_.clear();
  return std::exchange(peer_is_silent_, false);
}

// ----------------------------------------------------------------------------------------- answers to dials and probes

Status SessionHealth::on_answer(TimePoint now, const PeerAnswer& answer) {
  using Kind = JoinAnswer::Kind;
  const bool nobody_is_heard = answer.open.empty() || peer_is_silent_;
  const bool serves = answer.kind == Kind::duplicate;
  last_try_ = serves ? "the peer answers, and no lane that it dialled came" : answer.why;
  if (serves) pairs_.forget_denials();
  if (answer.is_leaving || (answer.to_probe && !nobody_is_heard)) return {};
  const bool refused = answer.kind == Kind::refused_connection;
  const Status loss =
      refused ? lost(answer.why, Code::remote, ECONNREFUSED) : lost("it says: " + answer.why, Code::remote, 0);
  if (answer.kind == Kind::unknown_session) return loss;  // the dial names both instances and the session
  if (!refused && answer.kind != Kind::stranger) return {};
  // an engine's listeners outlive their addresses (rail_listeners.h)
  if (!nobody_is_heard || !pairs_.speaks_for_peer(answer.by)) return {};
  const bool beside_own = std::ranges::find(answer.open, answer.by) != answer.open.end();
  pairs_.denied(now, answer.by, refused && beside_own ? Status() : loss);
  return pairs_.verdict(now);
}

// ----------------------------------------------------------------------------------------------------------- lanes go

// A reset may come from a peer that died, from a peer that received altered bytes, or from the network. The grace gives
// time to ask the peer.
void SessionHealth::lane_broke(TimePoint now, const LaneBreak& how) {
  if (how.damage != LaneBreak::Damage::none) {
    if (came_through(how)) grace_.extend(now);
    return;
  }
  if (how.retires) return;  // the peer ended it in good order
  if (how.end != wire::LaneEnd::unanswered) grace_.lane_reset(now, how.exchanged_segments);
}

// True: something arrived unaltered since the last altered bytes. A path that alters everything must not extend the
// grace for ever. After an altered payload an unaltered payload must have come. After other altered bytes a segment in
// either direction is enough, because an end that only sends gets no payload.
bool SessionHealth::came_through(const LaneBreak& how) {
  if (how.damage == LaneBreak::Damage::payload) return how.intact_payload_came;
  return std::exchange(segments_at_damage_, how.exchanged_segments) != how.exchanged_segments;
}

bool SessionHealth::second_malformed(TimePoint now) {
  const TimePoint before = std::exchange(malformed_at_, now);
  return before != TimePoint::min() && malformed_at_ - before < kMalformedMemory;
}

AfterLane SessionHealth::lane_gone(TimePoint now, const LaneGone& gone) {
  const bool unanswered = gone.end == wire::LaneEnd::unanswered;
  const bool broken = !gone.disagreement.ok();
  const bool ends_all = gone.why.scope() == Scope::session || broken || (gone.malformed && second_malformed(now));
  const bool alive = gone.live_lanes > 0 && !ends_all;
  AfterLane after;
  after.loss = loss_of(gone);
  const bool awaited = !alive && !ends_all && grace_.last_lane_lost(now, unanswered, gone.is_leaving, after.loss);
  after.then = alive ? AfterLane::Then::go_on : awaited ? AfterLane::Then::wait : AfterLane::Then::end;
  after.retired = alive && gone.retires && !gone.malformed && !unanswered;
  after.reconnect = !gone.is_leaving && (alive || awaited);
  after.is_loss = after.reconnect && !after.retired;
  // A malformed frame is logged even if no request waits. The requests of a broken session have ended already, so only
  // the log can tell.
  after.logs = broken || (gone.malformed && !gone.is_leaving && after.then == AfterLane::Then::end);
  return after;
}

Status SessionHealth::grace_over(TimePoint now, int live_lanes) const {
  if (live_lanes == 0 || peer_is_silent_) RW_TRY(pairs_.verdict(now));
  const Status loss = live_lanes > 0 ? Status() : grace_.over(now);
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(grace_.waited(now));
  if (loss.ok() || loss.code() == Code::left || waited.count() == 0) return loss;
  std::string text = loss.message() + "; no lane came for " + std::to_string(waited.count()) + " s";
  if (waited >= options_.peer_timeout) text += " (RAILWEAVE_PEER_TIMEOUT)";
  if (!last_try_.empty()) text += ", the last try: " + last_try_;
  return Status(loss.code(), loss.scope(), text, loss.system_errno());
}

Status SessionHealth::lost(const std::string& what, Code code, int system_errno) const {
  return Status(code, Scope::session, "connection to " + peer_ + " lost: " + what, system_errno);
}

// Returns the error with which requests would end.
Status SessionHealth::loss_of(const LaneGone& gone) const {
  if (gone.peer_left) return Status(Code::left, Scope::session, "peer " + peer_ + " said goodbye and left");
  const bool broken = !gone.disagreement.ok();
  const Status& cause = broken ? gone.disagreement : gone.why;
  const std::string what = gone.malformed && !broken ? "rail " + gone.rail + ": " + cause.message() : cause.message();
  const bool theirs = cause.code() == Code::system || cause.code() == Code::cancelled;
  return lost(what, theirs ? Code::remote : cause.code(), cause.system_errno());
}

// --------------------------------------------------------------------------------------------------------------- polls

SessionHealth::Verdicts SessionHealth::find_silent_lanes(TimePoint now, const Observations& lanes, int live_lanes) {
  using Kind = HealthVerdict::Kind;
  using Why = HealthVerdict::Why;
  Verdicts verdicts;
  for (const LaneObservation& seen : lanes) pairs_.heard(seen.ack_status.heard_at);
  const SilenceVerdict silence = detect_silent_lanes(now, liveness_of(lanes), options_.peer_timeout, probed_at_);
  for (const int i : silence.given_up) {
    const LaneObservation& seen = lanes[std::size_t(i)];
    verdicts.push_back(about(seen, Kind::give_up, seen.link_down ? Why::link_down : Why::unanswered));
  }
  for (const int i : silence.asked) verdicts.push_back(about(lanes[std::size_t(i)], Kind::send_any_frame));
  const bool silent_before = std::exchange(peer_is_silent_, silence.peer_is_silent);
  const bool has_lanes = live_lanes > 0 && silence.given_up.size() < lanes.size();
  if (peer_is_silent_ != silent_before && has_lanes)
    peer_is_silent_ ? grace_.peer_silent(now - kPeerSilenceMost) : grace_.peer_heard();
  if (!peer_is_silent_ && has_lanes) pairs_.forget_denials();
  if (peer_is_silent_ && !silent_before) verdicts.push_back(about_peer(Kind::peer_silent));
  if (!peer_is_silent_ && silent_before && has_lanes) verdicts.push_back(about_peer(Kind::peer_answers));
  if (silence.peer_is_gone) verdicts.push_back(about_peer(Kind::peer_lost));
  // Also once the silence is over: dials during the silence followed no plan.
  else if (peer_is_silent_ || silent_before)
    verdicts.push_back(about_peer(Kind::reconnect));
  return verdicts;
}

DrainRate& SessionHealth::drain_rate_of(const LaneRef& lane) {
  if (drain_rates_.size() <= std::size_t(lane.place)) drain_rates_.resize(std::size_t(lane.place) + 1);
  DrainEntry& entry = drain_rates_[std::size_t(lane.place)];
  if (entry.generation != lane.generation) entry = {lane.generation, {}};
  return entry.rate;
}

LaneDrain SessionHealth::drain_of(TimePoint now, const LaneObservation& seen) {
  DrainRate& rate = drain_rate_of(seen.lane);
  rate.observe(now, seen.health);
  LaneDrain drain;
  drain.outstanding_bytes = seen.health.outstanding_bytes;
  drain.acknowledged_bytes = seen.health.acknowledged_bytes;
  if (seen.holds_data) drain.left = rate.left();
  drain.believed = seen.believed;
  drain.works = lane_works(seen);
  if (seen.ack_status.late_since) drain.late_for = now - *seen.ack_status.late_since;
  return drain;
}

SessionHealth::Verdicts SessionHealth::find_slow_lanes(TimePoint now, const Observations& lanes,
                                                       std::uint64_t consumed_frames) {
  if (peer_is_silent_) return {};
  std::vector<std::optional<LaneDrain>> drains;
  for (const LaneObservation& seen : lanes) drains.push_back(drain_of(now, seen));
  const SlowLaneDetector::Verdict found = slow_lanes_.observe(now, drains, consumed_frames);
  Verdicts verdicts;
  if (found.probe_lane)
    verdicts.push_back(about(lanes[std::size_t(*found.probe_lane)], HealthVerdict::Kind::send_heartbeat_probe));
  for (const int i : found.given_up)
    verdicts.push_back(about(lanes[std::size_t(i)], HealthVerdict::Kind::give_up, HealthVerdict::Why::too_slow));
  return verdicts;
}

// Asks the peer's process while the peer's kernel answers. Every lane carries the probe: one lane may hold data that
// takes too long.
SessionHealth::Verdicts SessionHealth::find_stopped_peer(TimePoint now, const Observations& lanes,
                                                         std::uint64_t consumed_frames, bool is_waited_for) {
  using Kind = HealthVerdict::Kind;
  heartbeat_probe_.observe(now, [&](const HeartbeatProbe::Path& way) -> std::optional<std::uint64_t> {
    const auto seen = std::ranges::find_if(
        lanes, [&](const LaneObservation& l) { return l.lane.place == way.place && l.id == way.lane; });
    if (seen == lanes.end()) return {};
    return seen->health.acknowledged_bytes;
  });
  const bool could_answer =
      !peer_is_silent_ && std::ranges::any_of(lanes, lane_works) && !heartbeat_probe_.travels(now);
  if (heartbeat_.has_answered(consumed_frames)) heartbeat_probe_.answered();
  Verdicts verdicts;
  switch (heartbeat_.observe(now, consumed_frames, is_waited_for, could_answer)) {
    case PeerHeartbeat::Verdict::fine: break;
    case PeerHeartbeat::Verdict::probe_due:
      for (const LaneObservation& seen : lanes)
        if (lane_works(seen)) verdicts.push_back(about(seen, Kind::send_heartbeat_probe));
      if (!heartbeat_probe_.is_unanswered()) verdicts.push_back(about_peer(Kind::heartbeat_probe_sent));
      break;
    case PeerHeartbeat::Verdict::stopped: verdicts.push_back(about_peer(Kind::peer_stopped)); break;
    case PeerHeartbeat::Verdict::back: verdicts.push_back(about_peer(Kind::peer_answers)); break;
    case PeerHeartbeat::Verdict::gone: verdicts.push_back(about_peer(Kind::peer_stalled)); break;
  }
  return verdicts;
}

void SessionHealth::on_heartbeat_probe_sent(std::span<const LaneObservation> by) {
  for (const LaneObservation& seen : by) {
    const wire::LaneHealth& h = seen.health;
    heartbeat_probe_.goes_by(
        {seen.lane.place, seen.id, h.acknowledged_bytes + h.outstanding_bytes, h.acknowledged_bytes});
  }
}

}  // namespace railweave::engine
