// Lanes of a live session: they come, are lost, are given up for silence, and what follows from that (docs/reliability.md).
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "engine/live_session.h"

namespace railweave::engine {
namespace {

constexpr Nanos kSignsEvery = std::chrono::milliseconds(50);
constexpr Nanos kLostTogether = std::chrono::milliseconds(200);  // the lanes of a process that ends are reset within so long
constexpr Nanos kMalformedMemory = std::chrono::minutes(1);  // a malformed frame gives up its lane, a second so soon the session

std::string seconds_told(Nanos time) { return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()); }

}  // namespace

bool LiveSession::add_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane, bool doubtful) {
  const int place = lanes_.find_free();
  if (place < 0) return false;
  LaneDriver& driver = lanes_.at(place);
  const auto claim = driver.claimed();
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked->forget_lanes();
    if (!locked->has_room_for_lane()) return false;
    if (place < lanes_.count()) lanes_.remember(driver.stats());
  }
  if (const auto known = std::ranges::find(carried_, rails, &Carried::rails); known != carried_.end()) known->lost_at.reset();
  else carried_.push_back({rails, {}});
  driver.start(id, rails, std::move(lane));
  lanes_.publish(place);
  try {  // last: the peer may have given it up, and whoever hears of that looks for it here
    const SharedProtocol::Locked locked = protocol_.lock();
    if (locked->live_lanes() == 0) hope_.lane_back(now());
    locked->add_lane(id, rails.local, rails.remote, doubtful);
  } catch (const std::bad_alloc&) {
    driver.close();
    throw;
  }
  links_down_ &= ~(std::uint64_t{1} << rails.local);  // the kernel tells of a link that is up after it carried this
  if (std::exchange(peer_is_silent_, false)) tell_silence(false);  // its handshake answered
  heard_at_ = now();
  return true;
}

std::vector<RailPair> LiveSession::pairs_that_carried() const {
  std::vector<RailPair> pairs;
  for (const Carried& carried : carried_) pairs.push_back(carried.rails);
  return pairs;
}

bool LiveSession::speaks_for_peer(const RailPair& rails) const {
  const auto known = std::ranges::find(carried_, rails, &Carried::rails);
  return known != carried_.end() && (!known->lost_at || *known->lost_at + kLostTogether >= heard_at_);
}

// Many peers may fall silent at once: the log names a few of them.
void LiveSession::tell_silence(bool is_silent) {
  const std::string line = is_silent ? "no answer from " + peer_ + " on " + lanes_.rail_names() : peer_ + " answers again";
  if (owner_.may_warn_of_silence(is_silent)) RW_WARN(net, "{}", line);
  else RW_INFO(net, "{}", line);
}

void LiveSession::on_knock() { knocked_at_ = now(); }

void LiveSession::note_lost_pairs() {
  const std::vector<RailPair> open = rails_of_lanes();
  for (Carried& carried : carried_)
    if (!carried.lost_at && std::ranges::find(open, carried.rails) == open.end()) carried.lost_at = now();
}

bool LiveSession::had_lane(protocol::LaneId id) {
  const SharedProtocol::Locked locked = protocol_.lock();
  return locked->had_lane(id);
}

void LiveSession::join_began() {
  const SharedProtocol::Locked locked = protocol_.lock();
  hope_.join_began();
}

void LiveSession::join_ended() {
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    hope_.join_ended();
  }
  end_if_hopeless(now());
}

void LiveSession::withdraw_from_lanes(protocol::StreamId stream, bool sends, std::span<const std::byte> range) {
  bool withdrawn = true;
  for (int i = 0; i < lanes_.count(); ++i) {
    bool let_go = true;
    const auto claim = lanes_.at(i).claimed();
    try {
      sends ? void(let_go = lanes_.at(i).withdraw_payload(range)) : lanes_.at(i).withdraw_target(stream, range);
    } catch (const std::bad_alloc&) {  // a closed lane touches nothing
      lanes_.at(i).close();
      withdrawn = false;
    }
    if (!let_go) give_up_claimed(lanes_.at(i), Why::lent);
  }
  if (!withdrawn) fail(out_of_memory());
}

bool LiveSession::second_malformed() {
  const TimePoint before = std::exchange(malformed_at_, now());
  return before != TimePoint::min() && malformed_at_ - before < kMalformedMemory;
}

// Whether anything came through since the last wrong bytes: a path that spoils all gives no hope for ever. Of a spoilt payload a whole
// one makes up; what else is spoilt may have been an ack of an end that gets no payload at all, so there a segment either way does.
bool LiveSession::came_through(bool payload) {
  if (payload) return arrivals_.take_intact();
  const SharedProtocol::Locked locked = protocol_.lock();
  const std::uint64_t segments = locked->exchanged_segments();
  return std::exchange(segments_at_damage_, segments) != segments;
}

// Of a lane that ends. A reset may be that of a peer who died, or of one who saw wrong bytes, or the network's: it is asked.
void LiveSession::heed(LaneDriver& lane, const LaneDriver::Pass& pass) {
  using Fault = LaneDriver::Fault;
  if (pass.fault == Fault::malformed || !by_rails_) return;
  const bool damaged = pass.fault != Fault::none;
  if (damaged) RW_WARN(net, "lane {} to {} on rail {} given up: {}", lane.id(), peer_, lane.stats().rail, pass.status.message());
  if (damaged && !came_through(pass.fault == Fault::damaged_payload)) return;
  const SharedProtocol::Locked locked = protocol_.lock();
  if (!damaged && locked->is_retiring(lane.id())) return;  // the peer ended it in good order
  if (damaged) hope_.raise(now());
  else if (pass.end != wire::LaneEnd::unanswered) hope_.lane_reset(now(), locked->exchanged_segments());
}

// A lane closed or failed under its claim. What it carried goes again on the others, behind a fence.
void LiveSession::lane_over(LaneDriver& lane, const Status& why, bool malformed, bool too_slow) {
  lane.close();
  const std::string what = malformed ? "rail " + lane.stats().rail + ": " + why.message() : why.message();
  bool alive = true, awaited = false, goodbye = false, broken = false, retired = false;
  Status loss;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked.take_posts();
    retired = !malformed && why.system_errno() != ETIMEDOUT && locked->is_retiring(lane.id());
    locked->lose_lane(lane.id(), too_slow);
    locked.publish();
    goodbye = locked.is_leaving();
    // Losing a lane, or what came on it last, may have shown that the two ends do not agree (an impossible FENCE).
    broken = !locked->error().ok() && !over();
    if (broken) protocol_.mark_broken();  // before anybody hears of it by an event
    const bool hopeless = why.scope() == Scope::session || broken || (malformed && second_malformed());
    alive = locked->live_lanes() > 0 && !hopeless;
    const Status& cause = broken ? locked->error() : why;
    const std::string& told = broken ? cause.message() : what;
    const bool theirs = cause.code() == Code::system || cause.code() == Code::cancelled;
    loss = locked->peer_said_goodbye()
               ? Status(Code::left, Scope::session, "peer " + peer_ + " said goodbye and left")
               : Status(theirs ? Code::remote : cause.code(), Scope::session, "connection to " + peer_ + " lost: " + told,
                        cause.system_errno());
    awaited = !alive && !hopeless && hope_.last_lane_lost(now(), why.system_errno() == ETIMEDOUT, goodbye, loss);
  }
  if (alive || awaited) wake();  // its FENCE is to go, though nobody polls; or somebody has to look whether its time is over
  if (retired && alive) RW_INFO(net, "lane {} to {} on rail {} retired", lane.id(), peer_, lane.stats().rail);
  else if (!goodbye && (alive || awaited)) note_loss(lane, why, malformed);
  if (!goodbye && (alive || awaited)) until_memory([this] { owner_.on_lane_wanted(shared_from_this()); });
  // A lie is told of even when nobody waits; of a broken session the requests have ended already.
  if (broken || (malformed && !goodbye && !alive && !awaited)) tell_loss(loss);
  if (!alive && !awaited) fail(loss);
}

std::optional<LaneSign> LiveSession::sign_of(LaneDriver& lane) {
  const auto claim = lane.claimed();
  if (!lane.is_open()) return {};
  return LaneSign{lane.hearing(), !has_link(lane.rails().local)};
}

void LiveSession::tell_link(int rail, bool up) {
  const std::uint64_t bit = std::uint64_t{1} << rail;
  links_down_ = up ? links_down_ & ~bit : links_down_ | bit;
  look_for_signs(true);
  until_memory([this] { owner_.on_lane_wanted(shared_from_this()); });
}

bool LiveSession::watches_control() {
  const SharedProtocol::Locked locked = protocol_.lock();
  return locked->watches_control();
}

// What a lane's kernel does not get through to the peer's in time goes by another lane as well (decision D8).
void LiveSession::look_for_late_control(TimePoint t) {
  if (t - control_looked_at_ < protocol::Session::kLateLook || !watches_control()) return;
  control_looked_at_ = t;
  const TimePoint before = now();
  std::vector<protocol::Session::LaneLook> looks;
  for (int i = 0; i < lanes_.count(); ++i) {
    const auto claim = lanes_.at(i).claimed();
    if (lanes_.at(i).is_open()) looks.push_back({lanes_.at(i).id(), lanes_.at(i).report()});
  }
  const SharedProtocol::Locked locked = protocol_.lock();
  if (locked->say_late_control_again(before, now(), looks) > 0) locked.publish();
}

void LiveSession::look_for_signs(bool at_once) {
  const TimePoint t = now();
  if (!over()) look_for_late_control(t);
  if (over() || (!at_once && t - signs_looked_at_ < kSignsEvery)) return;
  signs_looked_at_ = t;
  end_if_hopeless(t);
  std::vector<std::optional<LaneSign>> lanes;
  for (int i = 0; i < lanes_.count(); ++i) lanes.push_back(sign_of(lanes_.at(i)));
  for (const auto& lane : lanes)
    if (lane) heard_at_ = std::max(heard_at_, lane->hearing.heard_at);
  const SilenceVerdict verdict = judge_silence(t, lanes, peer_timeout_, knocked_at_);
  for (const int i : verdict.given_up) give_up(lanes_.at(i), Why::unanswered);
  if (!verdict.asked.empty()) {
    const SharedProtocol::Locked locked = protocol_.lock();
    for (const int i : verdict.asked) locked->ask_for_sign(lanes_.at(i).id());
    locked.publish();
  }
  const bool silent_before = std::exchange(peer_is_silent_, verdict.peer_is_silent);
  if (peer_is_silent_ != silent_before && !is_without_lanes()) {
    const SharedProtocol::Locked locked = protocol_.lock();
    peer_is_silent_ ? hope_.peer_silent(t - kPeerSilenceMost) : hope_.peer_heard();
  }
  if (peer_is_silent_ && !silent_before) tell_silence(true);
  if (!peer_is_silent_ && silent_before && !is_without_lanes()) tell_silence(false);
  if (verdict.peer_is_gone)
    return lose("no answer on " + lanes_.rail_names() + " for " + seconds_told(peer_timeout_) + " s (RAILWEAVE_PEER_TIMEOUT)", ETIMEDOUT);
  // Also when it is over: what was dialled meanwhile followed no plan.
  if (peer_is_silent_ || silent_before) until_memory([this] { owner_.on_lane_wanted(shared_from_this()); });
  if (!peer_is_silent_) recall_slow_lanes(t, lanes);
  look_for_pulse(t, lanes);
}

void LiveSession::recall_slow_lanes(TimePoint t, const std::vector<std::optional<LaneSign>>& signs) {
  std::vector<std::optional<LanePacing>> lanes(signs.size());
  for (std::size_t i = 0; i < signs.size(); ++i) {
    if (!signs[i]) continue;
    const auto claim = lanes_.at(i).claimed();
    if (lanes_.at(i).is_open()) lanes[i] = lanes_.at(i).pacing(t);
    if (!lanes[i]) continue;
    const wire::Hearing& hearing = signs[i]->hearing;
    lanes[i]->works = !signs[i]->link_down && !hearing.silent_since;
    if (hearing.late_since) lanes[i]->late_for = t - *hearing.late_since;
  }
  Recall::Verdict verdict;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (!lanes[i]) continue;
      lanes[i]->believed = locked->rate_of(lanes_.at(i).id());
      if (!locked->holds_data(lanes_.at(i).id(), lanes[i]->acknowledged_bytes)) lanes[i]->left.reset();
    }
    verdict = recall_.look(t, lanes, locked->consumed_frames());
    if (verdict.asked) {
      locked->ask_for_answer(lanes_.at(*verdict.asked).id());
      locked.publish();
    }
  }
  for (const int i : verdict.recalled) give_up(lanes_.at(i), Why::too_slow);
}

void LiveSession::remember_slow(const RailPair& rails) {
  const SharedProtocol::Locked locked = protocol_.lock();
  slow_pairs_.push_back(rails);
}

std::vector<RailPair> LiveSession::take_slow_pairs() {
  const SharedProtocol::Locked locked = protocol_.lock();
  return std::exchange(slow_pairs_, {});
}

// Its kernel answers. Does it? It is asked by every lane: one may hold what takes too long.
void LiveSession::look_for_pulse(TimePoint t, const std::vector<std::optional<LaneSign>>& lanes) {
  const auto works = [](const std::optional<LaneSign>& sign) { return sign && !sign->link_down && !sign->hearing.silent_since; };
  question_.look(t, [this](const Question::Way& way) -> std::optional<std::uint64_t> {
    LaneDriver& lane = lanes_.at(way.place);
    const auto claim = lane.claimed();
    if (!lane.is_open() || lane.id() != way.lane) return {};
    return lane.health().acknowledged_bytes;
  });
  const bool could_answer = !peer_is_silent_ && std::ranges::any_of(lanes, works) && !question_.travels(t);
  PeerPulse::Verdict verdict;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    if (pulse_.hears(locked->consumed_frames())) question_.answered();
    verdict = pulse_.look(t, locked->consumed_frames(), somebody_waits(locked), could_answer);
    if (verdict == PeerPulse::Verdict::ask) {
      for (std::size_t i = 0; i < lanes.size(); ++i)
        if (works(lanes[i])) locked->ask_for_answer(lanes_.at(i).id());
      locked.publish();
    }
  }
  if (verdict == PeerPulse::Verdict::ask && !question_.is_asked()) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (!works(lanes[i])) continue;
      const auto claim = lanes_.at(i).claimed();
      if (!lanes_.at(i).is_open()) continue;
      const wire::LaneHealth h = lanes_.at(i).health();
      question_.goes_by({int(i), lanes_.at(i).id(), h.acknowledged_bytes + h.outstanding_bytes, h.acknowledged_bytes});
    }
  }
  switch (verdict) {
    case PeerPulse::Verdict::fine:
    case PeerPulse::Verdict::ask: return;
    case PeerPulse::Verdict::stopped:
      RW_WARN(net, "{} has not answered for 5 s, though its kernel does: stopped, in a debugger, without time on its cores, or are large "
                   "packets lost on every rail (a smaller MTU on the way)?", peer_);
      return;
    case PeerPulse::Verdict::back: return tell_silence(false);
    case PeerPulse::Verdict::gone:
      return lose("its kernel answers, but it has not for " + seconds_told(stall_timeout_) + " s (RAILWEAVE_STALL_TIMEOUT)", ETIMEDOUT);
  }
}

void LiveSession::lose(const std::string& why, int system_errno) {
  fail(Status(Code::remote, Scope::session, "connection to " + peer_ + " lost: " + why, system_errno));
}

// The last lane went while there was hope for another.
void LiveSession::end_if_hopeless(TimePoint t) {
  Status why;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    if (locked->live_lanes() > 0) return;
    why = hope_.over(t);
  }
  if (!why.ok()) fail(why);
}

void LiveSession::give_up(LaneDriver& lane, Why why) {
  const auto claim = lane.claimed();
  if (lane.is_open()) give_up_claimed(lane, why);
}

void LiveSession::give_up_claimed(LaneDriver& lane, Why why) {
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    hope_.raise(now());
  }
  if (why == Why::too_slow) remember_slow(lane.rails());
  const std::string told = why == Why::too_slow ? ": too slow, the others carry what it holds"
                           : why == Why::lent   ? ": its memory was given back while the kernel still read it (zero-copy)"
                           : has_link(lane.rails().local) ? ": no answer to what was sent"
                                                          : ": link down";
  lane_over(lane, Status(Code::remote, Scope::lane, lane.stats().rail + told, ETIMEDOUT), false, why == Why::too_slow);
}

// A lie is told of here and now; what all else means for a rail RailLog says.
void LiveSession::note_loss(LaneDriver& lane, const Status& why, bool malformed) {
  const std::string rail = lane.stats().rail;
  if (malformed) {
    RW_WARN(net, "lane {} to {} on rail {} given up: {}", lane.id(), peer_, rail, why.message());
  } else {
    RW_INFO(net, "lane {} to {} lost: {}", lane.id(), peer_, why.message());
  }
  std::string cause = malformed ? std::string() : why.message();
  for (const std::string& prefix : {"rail " + rail + ": ", rail + ": "})
    if (cause.starts_with(prefix)) cause.erase(0, prefix.size());
  const SharedProtocol::Locked locked = protocol_.lock();
  losses_.push_back({lane.rails().local, std::move(cause)});
}

void LiveSession::tell_rail(protocol::RailNews::Statement news) {
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked->tell_rail(std::move(news));
    locked.publish();
  }
  wake();
}

std::vector<protocol::RailNews::Statement> LiveSession::take_told_rails() {
  rails_told_.store(false, std::memory_order_release);
  const SharedProtocol::Locked locked = protocol_.lock();
  return locked->take_told_rails();
}

std::vector<LaneLoss> LiveSession::take_losses() {
  const SharedProtocol::Locked locked = protocol_.lock();
  return std::exchange(losses_, {});
}

}  // namespace railweave::engine
