// Ends of lanes: broken, given up or in good order. A lane is first ending: no thread reads or writes it any more. The
// lane is lost for the protocol once the wire has let go of it, because the lane's FENCE lets the peer retransmit what
// the lane carried (decision D6).
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "engine/session/session_lanes.h"

namespace railweave::engine {

// Tells SessionHealth how a lane broke of itself. The caller calls end() next.
void SessionLanes::note_break(LaneDriver& lane, const LaneDriver::Pass& pass) {
  using Fault = LaneDriver::Fault;
  if (pass.fault == Fault::malformed || !options_.by_rails) return;
  const bool damaged = pass.fault != Fault::none;
  if (damaged)
    RW_WARN(net, "lane {} to {} on rail {} given up: {}", lane.id(), peer_, lane.rail(), pass.status.message());
  const bool payload = pass.fault == Fault::damaged_payload;
  const bool intact = payload && arrivals_.take_intact();
  const SharedProtocol::Locked locked = protocol_.lock();
  using Damage = LaneBreak::Damage;
  health_(locked).lane_broke(protocol_.now(), {.damage = payload   ? Damage::payload
                                                         : damaged ? Damage::frame
                                                                   : Damage::none,
                                               .end = pass.end,
                                               .intact_payload_came = intact,
                                               .exchanged_segments = locked->exchanged_segments(),
                                               .retires = locked->is_retiring(lane.id())});
}

// Returns the argument of end() for a lane that this end gives up. `reason`: for the log.
LaneEnding SessionLanes::given_up(LaneDriver& lane, std::string_view reason, bool too_slow) {
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    health_(locked).lane_given_up(protocol_.now());
    if (too_slow) slow_pairs_(locked).push_back(lane.rails());
  }
  Status why(Code::remote, Scope::lane, lane.rail() + ": " + std::string(reason), ETIMEDOUT);
  return {std::move(why), wire::LaneEnd::unanswered, false, too_slow};
}

void SessionLanes::end(LaneDriver& lane, LaneEnding ending) {
  if (lane.begin_end(std::move(ending))) return lane_over(lane);
  owner_.wake();  // drive() and poll() ask the wire again
}

// True: the lane is over.
bool SessionLanes::finish(LaneDriver& lane) {
  if (!lane.has_ended()) return false;
  lane_over(lane);
  return true;
}

// Closes a lane that has ended, under its claim. The other lanes retransmit what the lane carried, behind a fence.
void SessionLanes::lane_over(LaneDriver& lane) {
  lane.close();
  const LaneEnding& ending = lane.ending();
  LaneGone gone;
  gone.why = ending.why;
  gone.rail = lane.rail();
  gone.malformed = ending.malformed;
  gone.end = ending.end;
  AfterLane after;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked.take_posts();
    gone.retires = locked->is_retiring(lane.id());
    locked->lose_lane(lane.id(), ending.too_slow);
    locked.publish();
    gone.is_leaving = locked.is_leaving();
    gone.peer_left = locked->peer_said_goodbye();
    // The loss, or the lane's last frames, may have shown that the two ends disagree (an impossible FENCE).
    if (!locked->error().ok() && !protocol_.is_over()) {
      locked.mark_broken();  // before an event tells another thread
      gone.disagreement = locked->error();
    }
    gone.live_lanes = locked->live_lanes();
    after = health_(locked).lane_gone(protocol_.now(), gone);
  }
  using Then = AfterLane::Then;
  // the FENCE must go out though no caller may poll, or the reactor must check when the reconnect grace is over
  if (after.then != Then::end) owner_.wake();
  if (after.retired) RW_INFO(net, "lane {} to {} on rail {} retired", lane.id(), peer_, gone.rail);
  if (after.is_loss) note_loss(lane);
  if (after.reconnect) owner_.on_lane_wanted();
  if (after.logs) owner_.log_loss(after.loss);
  if (after.then == Then::end) owner_.fail(after.loss);
}

// Logs the loss. A malformed frame is logged at WARN at once; for other causes RailLog logs what the loss means for the
// rail.
void SessionLanes::note_loss(LaneDriver& lane) {
  const LaneEnding& ending = lane.ending();
  const std::string rail = lane.rail();
  if (ending.malformed) {
    RW_WARN(net, "lane {} to {} on rail {} given up: {}", lane.id(), peer_, rail, ending.why.message());
  } else {
    RW_INFO(net, "lane {} to {} lost: {}", lane.id(), peer_, ending.why.message());
  }
  std::string cause = ending.malformed ? std::string() : ending.why.message();
  for (const std::string& prefix : {"rail " + rail + ": ", rail + ": "})
    if (cause.starts_with(prefix)) cause.erase(0, prefix.size());
  const SharedProtocol::Locked locked = protocol_.lock();
  losses_(locked).push_back({lane.rails().local, std::move(cause)});
}

std::vector<RailPair> SessionLanes::take_slow_pairs() {
  const SharedProtocol::Locked locked = protocol_.lock();
  return std::exchange(slow_pairs_(locked), {});
}

std::vector<LaneLoss> SessionLanes::take_losses() {
  const SharedProtocol::Locked locked = protocol_.lock();
  return std::exchange(losses_(locked), {});
}

}  // namespace railweave::engine
