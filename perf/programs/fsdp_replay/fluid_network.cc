#include "fsdp_replay/fluid_network.h"

#include <algorithm>
#include <cmath>

#include "fsdp_replay/seconds.h"

namespace railweave::perf::fsdp_replay {
namespace {

constexpr double kNothing = 0.5;            // bytes; more than the rounding of shares leaves of an operation
constexpr double kLeastBytesPerSecond = 1;  // least rate of a link that is still shared out

}  // namespace

FluidNetwork::FluidNetwork(EventQueue& events, const StepProgram& program, const Ring& ring,
                           const Admission::Options& admission, Network::User& user)
    : events_(events), program_(program), ring_(ring), user_(user), admission_(events, program, admission, *this, 0) {}

void FluidNetwork::issue(std::size_t, std::size_t operation) {
  progress();
  admission_.issue(operation);
  flows_.push_back({operation, (ring_.members - 1) * step_bytes(operation), 0});
  share();
}

// Returns the bytes of a step, at least 1: an empty operation also takes the latency of its steps.
double FluidNetwork::step_bytes(std::size_t operation) const {
  return std::max(1.0, ring_.step_bytes(program_.operations[operation].bytes));
}

void FluidNetwork::before_turn(std::size_t) {
  progress();
  share();
}

// An operation that was moving has posted a step, which continues. The operation moves again at once, so its queue
// keeps its turn.
void FluidNetwork::live_changed(std::size_t) {
  for (const Flow& flow : flows_)
    if (flow.bytes_per_s > 0) admission_.moved(flow.operation);
  share();
}

// Advances all flows to the present at their rates since the last call.
void FluidNetwork::progress() {
  const double seconds = in_seconds(events_.now() - progressed_);
  progressed_ = events_.now();
  for (Flow& flow : flows_) {
    if (flow.bytes_per_s == 0) continue;
    flow.bytes -= flow.bytes_per_s * seconds;
    admission_.moved(flow.operation);
  }
}

// Sets new rates, and schedules the moment at which they change next.
void FluidNetwork::share() {
  Ahead ahead;
  for (const Priority priority : {Priority::urgent, Priority::normal, Priority::bulk})
    share_of_priority(priority, ahead);
  double seconds = -1;
  for (const Flow& flow : flows_) {
    if (flow.bytes > kNothing && flow.bytes_per_s == 0) continue;
    const double needs = flow.bytes > kNothing ? flow.bytes / flow.bytes_per_s : 0;
    seconds = seconds < 0 ? needs : std::min(seconds, needs);
  }
  ++plan_;
  if (seconds >= 0) events_.after(Nanos(std::int64_t(std::ceil(seconds * 1e9))), *this, kChanges, plan_);
}

// Serves the older operation first. An operation alone sends a step and then pauses for the step's latency; later
// operations send in these pauses. All members keep the same time, so a later step begins with a pause. That step takes
// as many cycles of the earlier operations as it needs pauses, or its own time with the interruptions if that is
// longer.
void FluidNetwork::share_of_priority(Priority priority, Ahead& ahead) {
  std::vector<Flow*> live;
  for (Flow& flow : flows_) {
    if (admission_.priority(flow.operation) != priority) continue;
    flow.bytes_per_s = 0;
    if (flow.bytes > kNothing && admission_.may_go_on(flow.operation)) live.push_back(&flow);
  }
  std::ranges::sort(live, {}, &Flow::operation);
  const double latency_s = in_seconds(ring_.latency);
  for (Flow* flow : live) {
    if (ring_.rate.bytes_per_s * (1 - ahead.busy) < kLeastBytesPerSecond) return;
    const double sends_s = step_bytes(flow->operation) / ring_.rate.bytes_per_s;
    double cycle_s = sends_s + latency_s;
    if (ahead.cycle_s > 0) {
      const double pause_s = ahead.cycle_s * (1 - ahead.busy);
      const double pauses = std::ceil(sends_s / pause_s);
      cycle_s = std::max(pauses * ahead.cycle_s, cycle_s + (pauses - 1) * (ahead.cycle_s - pause_s));
    }
    flow->bytes_per_s = step_bytes(flow->operation) / cycle_s;
    ahead.busy += sends_s / cycle_s;
    ahead.cycle_s = std::max(ahead.cycle_s, cycle_s);
  }
}

void FluidNetwork::happen(std::uint32_t what, std::size_t which) {
  if (what == kEnded) return user_.ended(0, which);
  if (which != plan_) return;
  progress();
  const auto goes_on = [](const Flow& flow) { return flow.bytes > kNothing; };
  const auto over = std::stable_partition(flows_.begin(), flows_.end(), goes_on);
  for (auto flow = over; flow != flows_.end(); ++flow) {
    admission_.finish(flow->operation);
    // Runs as an event of its own, since the user may issue more operations in ended().
    events_.after(Nanos(0), *this, kEnded, flow->operation);
  }
  flows_.erase(over, flows_.end());
  share();
}

}  // namespace railweave::perf::fsdp_replay
