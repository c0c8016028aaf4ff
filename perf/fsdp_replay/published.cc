#include "fsdp_replay/published.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"
#include "fsdp_replay/made_trace.h"

namespace railweave::perf::fsdp_replay {
namespace {

double seconds(Nanos time) { return double(time.count()) / 1e9; }

// The state of the many hosts' run is kept on the one: with its own share, eight devices would not hold the model.
Result<Comparison> compare_scaling(const PublishedScaling::Case& one, const Parameters& parameters) {
  const std::string& model = parameters.scaling.model;
  Comparison made{.name = one.name, .published = one.published, .replayed = "", .hosts = one.hosts, .batch = one.batch,
                  .value = 0, .outcome = {}, .trace = make_trace(model, parameters.models.at(model), one.batch, one.hosts, parameters)};
  RW_ASSIGN_OR_RETURN(const Outcome alone, replay(made.trace, as_nccl(ring_of(parameters, 1), one.limiter), parameters));
  Ring ring = ring_of(parameters, one.hosts);
  ring.latency = parameters.scaling.host_step_latency;
  RW_ASSIGN_OR_RETURN(made.outcome, replay(made.trace, as_nccl(ring, one.limiter), parameters));
  made.value = seconds(alone.step) / seconds(made.outcome.step);
  made.replayed = fmt::format("{:.0f} %", 100 * made.value);
  return made;
}

Trace communication_bound_trace(const PublishedBound& bound, const Ring& ring, const Parameters& parameters) {
  Trace trace;
  trace.name = "communication-bound";
  Layer layer;
  layer.gather_bytes = layer.reduce_bytes = std::size_t(bound.parameters * parameters.bytes_per_parameter / bound.units);
  // Two gathers and a reduction; backward computes twice as long as forward.
  const double computing_s = bound.compute_share * 3 * seconds(ring.alone(layer.gather_bytes));
  layer.forward = Nanos(std::llround(computing_s / 3 * 1e9));
  layer.backward = 2 * layer.forward;
  for (int i = 0; i < bound.units; ++i) {
    layer.name = "block " + std::to_string(i);
    trace.layers.push_back(layer);
  }
  return trace;
}

}  // namespace

Setting as_nccl(const Ring& ring, LimiterKind limiter) {
  return {.ring = ring, .mode = Mode::fluid, .window = {.operations = 1}, .limiter = limiter, .one_line = true};
}

Result<std::vector<Comparison>> compare_published(const Parameters& parameters) {
  std::vector<Comparison> all;
  for (const PublishedScaling::Case& one : parameters.scaling.cases) {
    RW_ASSIGN_OR_RETURN(Comparison compared, compare_scaling(one, parameters));
    all.push_back(std::move(compared));
  }
  const PublishedBound& bound = parameters.communication_bound;
  const Ring ring = ring_of(parameters, bound.hosts);
  const Trace trace = communication_bound_trace(bound, ring, parameters);
  RW_ASSIGN_OR_RETURN(const Outcome free, replay(trace, as_nccl(ring, LimiterKind::none), parameters));
  for (const LimiterKind limiter : {LimiterKind::block_and_flush, LimiterKind::sliding}) {
    Comparison made{.name = fmt::format("communication-bound, {}", name_of(limiter)), .published = bound.published,
                    .replayed = "", .hosts = bound.hosts, .batch = 0, .value = 0, .outcome = {}, .trace = trace};
    RW_ASSIGN_OR_RETURN(made.outcome, replay(trace, as_nccl(ring, limiter), parameters));
    made.value = seconds(made.outcome.step) / seconds(free.step) - 1;
    made.replayed = fmt::format("{:.1f} % slower", 100 * made.value);
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace railweave::perf::fsdp_replay
