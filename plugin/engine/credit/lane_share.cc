#include "engine/credit/lane_share.h"

#include <algorithm>

namespace railweave::engine {
namespace {

// bytes up to a limit; a peer with less room waits for its next turn
constexpr std::uint64_t kRoomLeast = kShareLeast / 4;

}  // namespace

static_assert(kAny == protocol::Credit::kNone);

bool LaneShare::may_send(std::uint64_t position) const {
  return credit_.limit == Credit::kNone || position + kRoomLeast < credit_.limit;
}

// Data that waits in the peer's session counts as demand while the peer may not send by this lane. Once the peer may
// send, the data counts for kDemandForgotten more.
bool LaneShare::demands(TimePoint now, const Arrivals& arrivals) const {
  if (weight_.is_heavy()) return true;
  return arrivals.waiting_kib > 0 && (!may_send(arrivals.position) || now < let_go_at_ + kDemandForgotten);
}

LaneShare::Credit LaneShare::poll(TimePoint now, const Arrivals& arrivals, Nanos min_rtt) {
  const bool was_away = now - RailAccount::kAbsent > due_;
  note_absence(now);
  const AccountPlace::Renewed renewed = place_.renew(now);
  if (renewed == AccountPlace::Renewed::new_place) rate_.begin_sample();
  if (renewed == AccountPlace::Renewed::none) {
    position_ = arrivals.position;
    segments_ = arrivals.segments;
    turns_.leave();
    due_ = TimePoint::max();
    return credit_ = {.window_bytes = kShareLeast};
  }
  on_arrivals(now, arrivals);
  place_.set_min_rtt(min_rtt);
  mark_demand(now, arrivals, was_away);
  RailLoad load = place_.load(now, times_);
  if (now < others_known_at_) load.demanding = std::max(load.demanding, senders_);
  find(now, load, arrivals, min_rtt);
  due_ = next_poll(now);
  return credit_;
}

// After this process or the host stood still, the leases of all other lanes may be over. This lane would then take
// itself for the only one with demand.
void LaneShare::note_absence(TimePoint now) {
  if (place_.has_demand() && now > polled_at_ + RailAccount::kLease) others_known_at_ = now + RailAccount::kLease;
  polled_at_ = now;
}

void LaneShare::on_arrivals(TimePoint now, const Arrivals& arrivals) {
  place_.add_arrived(arrivals.position - position_);
  position_ = arrivals.position;
  if (arrivals.segments == segments_) return;
  segments_ = arrivals.segments;
  let_go_at_ = now;
  turns_.use(now);
}

// The rail's other lanes took turns while this lane was away, so this lane joins again.
void LaneShare::mark_demand(TimePoint now, const Arrivals& arrivals, bool was_away) {
  const bool demand = demands(now, arrivals);
  if (demand && (!place_.has_demand() || was_away)) {
    place_.set_demand(false);
    place_.set_turn(false);
    turns_.join(place_.load(now, times_));
  }
  place_.set_demand(demand);
  if (demand) demanded_at_ = now;
}

void LaneShare::find(TimePoint now, const RailLoad& load, const Arrivals& arrivals, Nanos min_rtt) {
  rate_.observe(now, load.arrived_bytes);
  weight_.observe(now, arrivals.position, load.arrived_bytes);
  place_.set_rate(rate_.rate());
  const Rate rate = load.least_rate > Rate{} ? std::min(load.least_rate, rate_.rate()) : rate_.rate();
  senders_ = load.demanding;
  times_ = turn_times(load, rate);
  const Share share = place_.has_demand() ? share_of_demand(load, rate, min_rtt) : Share();
  if (share.turns > 0) return take_turns(now, load, share, arrivals.position);
  turns_.leave();
  credit_.limit = Credit::kNone;
  if (place_.has_demand()) {
    credit_.window_bytes = share.window_bytes;
  } else if (now >= demanded_at_ + kIdle) {  // before, more data usually comes soon: the window stays
    credit_.window_bytes = idle_window(load, rate, min_rtt);
  }
}

// Restarts the time of kDemandForgotten when the limit moves for a peer that had reached the former limit.
void LaneShare::take_turns(TimePoint now, const RailLoad& load, const Share& share, std::uint64_t position) {
  const std::uint64_t before = credit_.limit == Credit::kNone ? position : std::max(credit_.limit, position);
  const std::uint64_t limit = turns_.poll(now, load, share, times_, position, before);
  if (limit > before && !may_send(position)) let_go_at_ = now;
  credit_ = {.window_bytes = share.window_bytes, .limit = limit};
}

TimePoint LaneShare::next_poll(TimePoint now) const {
  if (place_.has_demand() && credit_.limit != Credit::kNone) return turns_.due(now);
  if (place_.has_demand()) return now + (weight_.is_heavy() ? LaneWeight::kSample : RailAccount::kPollMost);
  return now < demanded_at_ + kIdle ? demanded_at_ + kIdle : TimePoint::max();
}

}  // namespace railweave::engine
