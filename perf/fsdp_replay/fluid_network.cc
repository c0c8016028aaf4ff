#include "fsdp_replay/fluid_network.h"

#include <algorithm>
#include <cmath>

#include "fsdp_replay/seconds.h"

namespace railweave::perf::fsdp_replay {
namespace {

constexpr double kNothing = 0.5;  // bytes: time is whole nanoseconds

}  // namespace

FluidNetwork::FluidNetwork(EventQueue& events, const StepProgram& program, const Ring& ring,
                           const Admission::Options& admission, Network::User& user)
    : events_(events),
      program_(program),
      ring_(ring),
      user_(user),
      admission_(events, program, admission, *this, 0) {}

void FluidNetwork::issue(std::size_t, std::size_t operation) {
  progress();
  admission_.issue(operation);
  flows_.push_back({operation, ring_.bytes_moved(program_.operations[operation].bytes), 0});
  share();
}

void FluidNetwork::before_turn(std::size_t) {
  progress();
  share();
}

// Who was moving has posted a step, which goes on: it moves again in no time, so its line keeps its turn.
void FluidNetwork::live_changed(std::size_t) {
  for (const Flow& flow : flows_)
    if (flow.bytes_per_s > 0) admission_.moved(flow.operation);
  share();
}

// Up to now, at the rates since the last time.
void FluidNetwork::progress() {
  const double seconds = in_seconds(events_.now() - progressed_);
  progressed_ = events_.now();
  for (Flow& flow : flows_) {
    if (flow.bytes_per_s == 0) continue;
    flow.bytes -= flow.bytes_per_s * seconds;
    admission_.moved(flow.operation);
  }
}

// New rates, and when they will change by themselves.
void FluidNetwork::share() {
  double left = ring_.rate.bytes_per_s;
  for (const Class priority : {Class::urgent, Class::normal, Class::bulk}) left -= share_of_class(priority, left);
  double seconds = -1;
  for (const Flow& flow : flows_) {
    if (flow.bytes > kNothing && flow.bytes_per_s == 0) continue;
    const double needs = flow.bytes > kNothing ? flow.bytes / flow.bytes_per_s : 0;
    seconds = seconds < 0 ? needs : std::min(seconds, needs);
  }
  ++plan_;
  if (seconds >= 0) events_.after(Nanos(std::int64_t(std::ceil(seconds * 1e9))), *this, kChanges, plan_);
}

// The older operation first, but none more than it could use alone: between its steps it waits. Returns what is used.
double FluidNetwork::share_of_class(Class priority, double bytes_per_s) {
  std::vector<Flow*> live;
  for (Flow& flow : flows_) {
    if (admission_.priority(flow.operation) != priority) continue;
    flow.bytes_per_s = 0;
    if (bytes_per_s >= 1 && flow.bytes > kNothing && admission_.may_go_on(flow.operation)) live.push_back(&flow);
  }
  const double latency_s = in_seconds(ring_.latency);
  const auto most = [&](const Flow* flow) {
    return 1 / (1 / bytes_per_s + latency_s / ring_.step_bytes(program_.operations[flow->operation].bytes));
  };
  std::ranges::sort(live, {}, &Flow::operation);
  double used = 0;
  for (Flow* flow : live) used += flow->bytes_per_s = std::min(most(flow), bytes_per_s - used);
  return used;
}

void FluidNetwork::happen(std::uint32_t what, std::size_t which) {
  if (what == kEnded) return user_.ended(0, which);
  if (which != plan_) return;
  progress();
  const auto goes_on = [](const Flow& flow) { return flow.bytes > kNothing; };
  const auto over = std::stable_partition(flows_.begin(), flows_.end(), goes_on);
  for (auto flow = over; flow != flows_.end(); ++flow) {
    admission_.finish(flow->operation);
    // Told from outside: whoever hears of it issues more.
    events_.after(Nanos(0), *this, kEnded, flow->operation);
  }
  flows_.erase(over, flows_.end());
  share();
}

}  // namespace railweave::perf::fsdp_replay
