#include "tests/sim/credit/credit_world.h"

#include "tests/sim/credit/credit_lane.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kBegin{1h};
constexpr Nanos kPauseMost = 30ms;

}  // namespace

CreditWorld::CreditWorld(const CreditOptions& options) : options_(options), random_(options.seed), now_(kBegin) {
  for (int i = 0; i < options.hosts; ++i) {
    hosts_.emplace_back(options.rate);
    hosts_.back().clock_speed = 1 + options.clocks_apart * std::uniform_real_distribution<>(-1, 1)(random_);
  }
}

CreditWorld::~CreditWorld() = default;

CreditLane& CreditWorld::connect(int from, int to) {
  return *lanes_.emplace_back(std::make_unique<CreditLane>(*this, from, to));
}

void CreditWorld::post(CreditLane& lane, std::uint64_t bytes) { lane.post(bytes); }

// The object stays: events may still refer to it.
void CreditWorld::disconnect(CreditLane& lane) {
  lane.open_ = false;
  lane.waiting_ = 0;
  lane.arrived_ = lane.taken_;
  lane.share_.reset();
}

void CreditWorld::pause_receiver(CreditLane& lane, Nanos time) { lane.receiver_paused_until_ = now_ + time; }

void CreditWorld::pause(int number, Nanos time) { host(number).paused_until = now_ + time; }

void CreditWorld::run(Nanos time) {
  const TimePoint end = now_ + time;
  begin_pauses();
  for (; !events_.empty() && events_.top().at <= end;) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    event.lane->handle(event);
  }
  now_ = end;
}

// Each host that pauses at times begins at most one pause in each run().
void CreditWorld::begin_pauses() {
  for (int i = 0; i < options_.pausing; ++i)
    if (chance(0.5))
      pause(i, Nanos(std::int64_t(double(kPauseMost.count()) * std::uniform_real_distribution<>(0, 1)(random_))));
}

void CreditWorld::forget() {
  for (Host& each : hosts_) each.in.forget();
  for (const auto& lane : lanes_) lane->forget();
}

TimePoint CreditWorld::local(int number, TimePoint t) const {
  return kBegin + Nanos(std::int64_t(double((t - kBegin).count()) * hosts_[std::size_t(number)].clock_speed));
}

TimePoint CreditWorld::global(int number, TimePoint t) const {
  return std::max(
      now_, kBegin + Nanos(std::int64_t(double((t - kBegin).count()) / hosts_[std::size_t(number)].clock_speed)) + 2ns);
}

TimePoint CreditWorld::runs_at(int number) {
  const Nanos wakes_in(std::uniform_int_distribution<Nanos::rep>(0, options_.wakes_in_most.count())(random_));
  return std::max(now_ + wakes_in, host(number).paused_until);
}

void CreditWorld::after(Event event) {
  event.number = events_made_++;
  events_.push(event);
}

}  // namespace railweave::sim
