#include "tests/sim/session_end.h"

#include <algorithm>
#include <utility>

#include "railweave/config.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;
using protocol::LaneId;

constexpr Nanos kPaceLeast = 200us, kPaceMost = 20ms;  // between pumps while something waits and nothing moves
constexpr Nanos kFarewellMost = 1s;
constexpr Nanos kBirthMost = 20ms;
// kSilencePoll as in engine/session/session_watch. kIdleLook is for simulated keepalives; a kernel's need no poll.
constexpr Nanos kSilencePoll = 50ms, kIdleLook = 1s;
constexpr std::size_t kBudgetBytes = 512 * KiB;
constexpr int kTurnsMax = 8;

}  // namespace

SessionEnd::SessionEnd(wire::SimNetwork& net, MemoryWatch& memory, std::string name, Host& host,
                       const protocol::SessionOptions& options, Nanos peer_timeout, std::uint64_t seed, Fail fail)
    : net_(net),
      host_(host),
      time_(net, host.clock),
      watch_(memory, std::move(name), time_, peer_timeout, seed, std::move(fail)),
      protocol_(options, time_),
      pace_(kPaceLeast),
      lanes_(protocol_, *this, "the peer of " + watch_.name,
             {.lane = {}, .health = {peer_timeout, Config().stall_timeout}, .by_rails = true}) {
  watch_.session = [this]() -> protocol::SessionProtocol& { return session(); };
  poll_later();
}

SessionEnd::~SessionEnd() {
  *alive_ = false;
  watch_.ignores_memory = true;
}

// ----------------------------------------------------------------------------------------------------------- its lanes

void SessionEnd::begin_lane(LaneId id, engine::RailPair rails, std::unique_ptr<wire::SimLane> lane, bool doubtful) {
  if (over() || dead_) return;
  if (on_lane_begins) on_lane_begins(id);
  if (begun_.size() <= id) begun_.resize(std::size_t(id) + 1);
  begun_[id] = true;
  const Nanos takes(
      std::int64_t(watch_.random() % 3 == 0 ? 0 : watch_.random() % std::uint64_t(kBirthMost.count() + 1)));
  const TimePoint made_at = net_.now() + takes;
  const auto made = [this](WatchedLane& read_while_landing, wire::SimLane& its) {
    its.on_ready = [this, &read_while_landing](wire::Lane&) {
      if (read_while_landing.has_news() || says_goodbye_ || is_busy() || read_while_landing.lets_go()) touch();
    };
  };
  auto pending = std::make_unique<PendingSimLane>(net_, watch_, id, std::move(lane), made_at, made);
  pending->start({});
  lanes_.begin_lane(id, rails, std::move(pending), doubtful);
  net_.at(made_at, [this, alive = alive_] {
    if (*alive) touch();
  });
  touch();
}

void SessionEnd::give_up(LaneId id, Nanos late_by) {
  const engine::LaneTable& table = lanes_.table();
  for (int place = 0; place < table.count(); ++place) {
    const engine::LaneDriver& lane = table.at(place);
    if (!lane.is_open() || lane.id() != id) continue;
    using Verdict = engine::HealthVerdict;
    const Verdict verdict{
        .kind = Verdict::Kind::give_up, .why = Verdict::Why::unanswered, .lane = {place, lane.generation()}, .id = id};
    if (late_by == Nanos(0)) return carry_out(verdict);
    return net_.after(late_by, [this, verdict, alive = alive_] {
      if (*alive && !dead_) carry_out(verdict);
    });
  }
}

void SessionEnd::carry_out(const engine::HealthVerdict& verdict) {
  if (over()) return;
  const auto before = open_lanes();
  lanes_.carry_out({verdict});
  const auto after = open_lanes();
  for (const OpenLane& lane : before)
    if (lane.id != verdict.id && !over() && std::ranges::find(after, lane.id, &OpenLane::id) == after.end())
      watch_.fail(name() + ": a verdict on lane " + std::to_string(verdict.id) + " ended lane " +
                  std::to_string(lane.id));
  touch();
}

void SessionEnd::reset_lane(LaneId id) {
  if (const auto it = watch_.lanes.find(id); it != watch_.lanes.end()) it->second->reset();
  touch();
}

void SessionEnd::reset_lanes() {
  for (const auto& [id, lane] : watch_.lanes) lane->reset();
  touch();
}

std::vector<SessionEnd::OpenLane> SessionEnd::open_lanes() const {
  std::vector<OpenLane> open;
  const engine::LaneTable& table = lanes_.table();
  for (int place = 0; place < table.count(); ++place) {
    const engine::LaneDriver& lane = table.at(place);
    if (lane.is_open()) open.push_back({lane.id(), lane.rails(), &watch_.lanes.at(lane.id())->link()});
  }
  std::ranges::sort(open, {}, &OpenLane::id);
  return open;
}

void SessionEnd::set_link(int rail, bool up) {
  if (over() || dead_) return;
  lanes_.set_link(rail, up);
  touch();
}

bool SessionEnd::is_waited_for(const engine::SharedProtocol::Locked& locked) {
  if (locked.is_leaving()) return false;
  std::uint64_t sends = 0, receives = 0;
  locked->count_unfinished(sends, receives);
  return sends + receives > 0;
}

// Calls on_lanes_wanted in a later event, once for all that happened until then, as the engine does.
void SessionEnd::on_lane_wanted() {
  if (std::exchange(lane_wanted_, true)) return;
  net_.after(Nanos(0), [this, alive = alive_] {
    if (!*alive) return;
    lane_wanted_ = false;
    if (over() || dead_) return;
    lanes_.note_lost_pairs();
    on_lanes_wanted();
  });
}

// ------------------------------------------------------------------------------------------------------------- ending

// The engine would end the session. An error of the protocol itself is always a failure: the two ends contradict each
// other.
void SessionEnd::fail(const Status& why) {
  if (!over() && !session().error().ok()) watch_.fail(name() + ": " + session().error().message());
  if (!over() && !dead_) on_over(why);
}

void SessionEnd::lose(const std::string& why, int system_errno) {
  fail(Status(Code::remote, Scope::session, why, system_errno));
}

void SessionEnd::end_with(const Status& why) {
  if (over()) return;
  for (const auto& [id, lane] : watch_.lanes) lane->check_lent();
  protocol_.lock().fail(why);
  net_.after(Nanos(0), [this, alive = alive_] {  // some lane's claim may be held now
    if (*alive && !dead_) close_lanes();
  });
  touch();
}

void SessionEnd::leave() {
  if (over() || dead_ || says_goodbye_) return;
  says_goodbye_ = true;
  protocol_.lock().say_goodbye();
  touch();
  net_.after(host_.clock.world(kFarewellMost), [this, alive = alive_] {
    if (*alive && !dead_) end_with(Status(Code::cancelled, Scope::session, "left"));
  });
}

void SessionEnd::go_on_leaving() {
  if (half_closed_ || is_busy() || !protocol_.goodbye_written() || lanes_.table().outstanding_bytes() > 0) return;
  half_closed_ = true;
  lanes_.table().each_claimed([](engine::LaneDriver& lane) {
    lane.assert_claimed();
    lane.finish_writing();
  });
}

void SessionEnd::die(bool with_host) {
  dead_ = watch_.ignores_memory = true;
  if (!with_host) close_lanes();
}

void SessionEnd::close_lanes() {
  lanes_.close();
  if (!watch_.lanes.empty() || watch_.pending > 0) watch_.fail(name() + ": lanes are left when the session is over");
}

// ------------------------------------------------------------------------------------------------------------ running

std::string SessionEnd::state() {
  const protocol::SessionProtocol& s = session();
  std::string text = name() + ":" + (s.has_data() ? " data of " + std::to_string(s.waiting_bytes()) + " bytes" : "") +
                     (s.has_control() ? " control" : "") + (s.has_lazy() ? " lazy" : "");
  for (const OpenLane& open : open_lanes()) {
    const wire::LaneHealth h = watch_.lanes.at(open.id)->health();
    text += " | lane " + std::to_string(open.id) + " over " + open.link->spec().name + ": " +
            std::to_string(h.outstanding_bytes) + " outstanding, " + std::to_string(h.acknowledged_bytes) +
            " acknowledged, " + std::to_string(s.rate_of(open.id).megabits()) + " Mb/s" +
            (watch_.lanes.at(open.id)->at_frame_boundary() ? "" : ", blocked");
  }
  if (lanes_.any_is_pending()) text += " | lanes on their way";
  if (lanes_.table().any_is_ending()) text += " | lanes ending";
  return text;
}

void SessionEnd::touch() {
  protocol_.lock().publish();
  pace_ = kPaceLeast;
  pump_in(Nanos(watch_.random() % 3000));
}

void SessionEnd::pump_in(Nanos delay) {
  const TimePoint when = std::max(net_.now() + delay, asleep_until_);
  if (when >= next_pump_) return;
  next_pump_ = when;
  net_.at(when, [this, when, alive = alive_] {
    if (!*alive || dead_ || next_pump_ != when) return;
    next_pump_ = TimePoint::max();
    if (net_.now() < asleep_until_) return pump_in(Nanos(0));
    pump();
  });
}

// Polls and drives as engine/session/session_watch does. Some turns do not flush, as those of a caller that polls.
void SessionEnd::pump() {
  if (!over()) lanes_.poll(false);
  const bool moved = !over() && drive();
  on_pumped();
  if (over()) return;
  poll_later();
  if (moved) return pump_in(Nanos(1 + watch_.random() % 20'000));
  if (says_goodbye_) go_on_leaving();
  if (!says_goodbye_ && !is_busy()) return;
  pump_in(pace_);
  pace_ = std::min(2 * pace_, kPaceMost);
}

// Returns true if there may be more to do.
bool SessionEnd::drive() {
  for (int turn = 0; turn < kTurnsMax && !over(); ++turn) {
    const bool flush = watch_.random() % 4 != 0;
    const bool moved = lanes_.drive(kBudgetBytes, flush).moved;
    if (lanes_.table().every_lane_is_blocked()) on_acks_waived();
    if (protocol_.has_events()) handle_events();
    if (!moved) return false;
    on_pumped();
  }
  return true;
}

void SessionEnd::handle_events() {
  for (const protocol::Event& event : protocol_.take_events()) {
    on_event(event);
    if (event.kind == protocol::Event::Kind::lane_failed_by_peer) lanes_.on_failed_by_peer(event.lane, event.too_slow);
    if (event.kind == protocol::Event::Kind::lane_retired) lanes_.on_retired(event.lane);
  }
}

// Pumps later, even if nothing moves meanwhile.
void SessionEnd::poll_later() {
  const bool owed = lanes_.table().outstanding_bytes() > 0 || protocol_.is_without_lanes();
  const Nanos delay = protocol_.watches_control() ? protocol::SessionProtocol::kLatePoll
                      : owed                      ? kSilencePoll
                                                  : kIdleLook;
  const TimePoint when = std::max(net_.now() + host_.clock.world(delay), asleep_until_);
  if (when >= next_poll_) return;
  next_poll_ = when;
  net_.at(when, [this, when, alive = alive_] {
    if (!*alive || dead_ || over() || next_poll_ != when) return;
    next_poll_ = TimePoint::max();
    if (net_.now() < asleep_until_) return poll_later();
    pump();
  });
}

}  // namespace railweave::sim
