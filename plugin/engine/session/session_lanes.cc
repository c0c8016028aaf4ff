// Lanes are added, driven and retired.
#include "engine/session/session_lanes.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/without_memory.h"

namespace railweave::engine {

SessionLanes::SessionLanes(SharedProtocol& protocol, LanesOwner& owner, std::string peer,
                           const SessionLanesOptions& options)
    : protocol_(protocol),
      owner_(owner),
      peer_(std::move(peer)),
      options_(options),
      table_(protocol, arrivals_, options.lane),
      health_(peer_, options.health) {}

// ----------------------------------------------------------------------------------------------------------- new lanes

bool SessionLanes::add_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane,
                            bool doubtful) {
  const int place = table_.find_free();
  if (place < 0) return false;
  LaneDriver& driver = table_.at(place);
  const LaneDriver::Claim claim(driver);
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked->forget_lanes();
    if (!locked->has_room_for_lane()) return false;
    health_(locked).pair_carries(rails);
  }
  table_.count_by(place, lane->metrics());
  std::unique_ptr<LaneCredit> credit = options_.by_rails ? owner_.credit_on(rails.local) : nullptr;
  const protocol::Credit first = credit ? LaneCredit::kFirst : protocol::Credit();
  driver.start(id, rails, std::move(lane), std::move(credit));
  table_.publish(place);
  bool answers_again = false;
  try {  // last: the peer may have given the lane up, and the handler of that event looks for the lane in the table
    const SharedProtocol::Locked locked = protocol_.lock();
    const int others = locked->live_lanes();
    locked->add_lane(id, rails.local, rails.remote, doubtful, first);
    answers_again = health_(locked).lane_came(protocol_.now(), others);
    locked.publish();  // hands on lane_failed_by_peer, if the peer has given the lane up already
  } catch (const std::bad_alloc&) {
    driver.close();
    throw;
  }
  if (answers_again) log_silence(false);
  return true;
}

void SessionLanes::join_began() {
  const SharedProtocol::Locked locked = protocol_.lock();
  health_(locked).join_began();
}

void SessionLanes::join_ended() {
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    health_(locked).join_ended();
  }
  end_if_grace_is_over(protocol_.now());
}

void SessionLanes::on_probe() {
  const SharedProtocol::Locked locked = protocol_.lock();
  health_(locked).probed(protocol_.now());
}

bool SessionLanes::on_answer(const JoinAnswer& answer, const RailPair& by, bool to_probe) {
  const std::vector<RailPair> open = table_.rails_of_lanes();
  Status loss;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    loss =
        health_(locked).on_answer(protocol_.now(), {answer.kind, answer.why, by, open, to_probe, locked.is_leaving()});
  }
  if (!loss.ok()) owner_.fail(loss);
  return !loss.ok();
}

void SessionLanes::try_failed(const std::string& why) {
  const SharedProtocol::Locked locked = protocol_.lock();
  health_(locked).try_failed(why);
}

// --------------------------------------------------------------------------------------------------------- moving data

SessionLanes::Driven SessionLanes::drive(std::size_t budget_bytes, bool flush) {
  Driven result;
  bool blocked = false;
  const int lanes = table_.count();
  for (int i = 0; i < lanes; ++i) {
    LaneDriver& lane = table_.at(i);
    if (!lane.try_claim()) {
      result.missed = true;
      continue;
    }
    result.moved |= drive_lane(lane, budget_bytes, flush, blocked);
  }
  if (blocked && table_.every_lane_is_blocked()) {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked->publish_without_acks();
    locked.publish();
  }
  return result;
}

// After releasing a lane, the thread looks at the inboxes once more: they may have a post of a thread whose try_claim()
// failed.
bool SessionLanes::drive_lane(LaneDriver& lane, std::size_t budget_bytes, bool flush, bool& blocked) {
  bool moved = false;
  for (int turn = 0;; ++turn) {
    LaneDriver::Pass pass;
    {
      const LaneDriver::Claim claim(lane, std::adopt_lock);
      if (lane.is_ending()) return finish(lane);
      try {
        pass = lane.pass(budget_bytes, flush);
      } catch (const std::bad_alloc&) {  // a frame is half handled: no thread may read on before the session fails
        lane.close();
        throw;
      }
      moved |= pass.moved || !pass.status.ok();
      if (!pass.status.ok()) {
        note_break(lane, pass);
        end(lane, {pass.status, pass.end, pass.fault == LaneDriver::Fault::malformed});
      }
    }
    blocked |= pass.blocked;
    if (pass.blocked || !pass.status.ok() || turn > 0 || !protocol_.has_posts() || !lane.try_claim()) return moved;
  }
}

void SessionLanes::withdraw(protocol::StreamId stream, bool sends, std::span<const std::byte> range) {
  bool withdrawn = true;
  table_.each_claimed([&](LaneDriver& lane) {
    lane.assert_claimed();
    bool let_go = true;
    try {
      sends ? void(let_go = lane.withdraw_payload(range)) : lane.withdraw_target(stream, range);
    } catch (const std::bad_alloc&) {  // a closed lane touches nothing
      lane.close();
      withdrawn = false;
    }
    if (let_go) return;
    if (lane.is_open())
      (void)lane.begin_end(
          given_up(lane, "its memory was given back while the kernel still read it (zero-copy)", false));
    lane_over(lane);  // closes the lane at once, and waits until the wire has let go
  });
  if (!withdrawn) owner_.fail(out_of_memory());
}

// ----------------------------------------------- lanes end in good order (docs/operate/reliability.md, "Backup lanes")

void SessionLanes::retire(const std::vector<Surplus>& surplus) {
  if (surplus.empty() && !std::exchange(any_retires_, false)) return;
  any_retires_ = !surplus.empty();
  struct Retiring {
    protocol::LaneId id;
    const char* why;
  };
  std::vector<Retiring> retiring;
  for (const Surplus& too_many : surplus) {
    std::vector<LaneTable::OpenLane> its = table_.open_lanes();
    std::erase_if(its, [&](const auto& lane) { return lane.rails != too_many.rails; });
    const auto is_worse = [&](const LaneTable::OpenLane& lane) { return lane.wire == too_many.first_wire; };
    std::ranges::sort(its, {}, [&](const auto& lane) { return std::pair(is_worse(lane), lane.id); });
    for (std::size_t i = std::size_t(too_many.keep); i < its.size(); ++i)
      retiring.push_back({its[i].id, too_many.keep == 0 ? "retires: primary pairs carry again"
                                     : is_worse(its[i]) ? "retires: a lane of a better wire serves instead"
                                                        : "retires: its pair has more lanes than planned"});
  }
  bool news = false;
  for (int i = 0; i < table_.count(); ++i) {
    if (!table_.at(i).is_open()) continue;
    const protocol::LaneId id = table_.at(i).id();
    const auto found = std::ranges::find(retiring, id, &Retiring::id);
    const bool retires = found != retiring.end();
    {
      const SharedProtocol::Locked locked = protocol_.lock();
      if (!locked->retire(id, retires)) continue;
      locked.publish();
    }
    news = true;
    RW_INFO(net, "lane {} to {} {}", id, peer_, retires ? found->why : "serves again");
  }
  if (news) owner_.wake();
}

// The peer, which dialled the lane, has retired it: the frames of both ends are consumed.
void SessionLanes::on_retired(protocol::LaneId id) {
  table_.with_lane(id, [&](LaneDriver& lane) {
    lane.assert_claimed();
    if (protocol_.lock()->is_retiring(id))
      end(lane, {Status(Code::remote, Scope::lane, "no longer needed, says the peer")});
  });
}

void SessionLanes::on_failed_by_peer(protocol::LaneId id, bool too_slow) {
  table_.with_lane(id, [&](LaneDriver& lane) {
    lane.assert_claimed();
    {
      const SharedProtocol::Locked locked = protocol_.lock();
      if (too_slow) slow_pairs_(locked).push_back(lane.rails());
      health_(locked).lane_failed_by_peer(protocol_.now(), locked->is_retiring(id));
    }
    end(lane, {Status(Code::remote, Scope::lane, too_slow ? "too slow, says the peer" : "the peer gave it up")});
  });
}

}  // namespace railweave::engine
