// Lanes go: broken, given up or ended in good order. A lane is first ending: nobody reads or writes it any more. It is
// lost once the wire has let go of it, because its FENCE lets the peer send again what was on it (decision D6).
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "engine/session/session_lanes.h"

namespace railweave::engine {

// Why a lane broke of itself. end() follows.
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

// What end() is to know of a lane that we give up. `told`: why, for people.
LaneEnding SessionLanes::given_up(LaneDriver& lane, std::string_view told, bool too_slow) {
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    health_(locked).lane_given_up(protocol_.now());
    if (too_slow) slow_pairs_(locked).push_back(lane.rails());
  }
  Status why(Code::remote, Scope::lane, lane.rail() + ": " + std::string(told), ETIMEDOUT);
  return {std::move(why), wire::LaneEnd::unanswered, false, too_slow};
}

void SessionLanes::end(LaneDriver& lane, LaneEnding ending) {
  if (lane.begin_end(std::move(ending))) return lane_over(lane);
  owner_.wake();  // drive() and poll() ask again, the reactor soon
}

// True: it is over.
bool SessionLanes::finish(LaneDriver& lane) {
  if (!lane.has_ended()) return false;
  lane_over(lane);
  return true;
}

// A lane has ended, under its claim. What it carried goes again on the others, behind a fence.
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
    // Losing a lane, or what came on it last, may have shown that the two ends do not agree (an impossible FENCE).
    if (!locked->error().ok() && !protocol_.is_over()) {
      locked.mark_broken();  // before anybody hears of it by an event
      gone.disagreement = locked->error();
    }
    gone.live_lanes = locked->live_lanes();
    after = health_(locked).lane_gone(protocol_.now(), gone);
  }
  using Then = AfterLane::Then;
  // its FENCE is to go, though nobody polls; or somebody has to look whether its time is over
  if (after.then != Then::end) owner_.wake();
  if (after.retired) RW_INFO(net, "lane {} to {} on rail {} retired", lane.id(), peer_, gone.rail);
  if (after.is_loss) note_loss(lane);
  if (after.reconnect) owner_.on_lane_wanted();
  if (after.logs) owner_.announce_loss(after.loss);
  if (after.then == Then::end) owner_.fail(after.loss);
}

// A lie is told of here and now; what all else means for a rail RailLog says.
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
