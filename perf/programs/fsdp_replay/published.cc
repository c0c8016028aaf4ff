#include "fsdp_replay/published.h"

#include <fmt/core.h>

#include "base/error.h"
#include "fsdp_replay/made_trace.h"
#include "fsdp_replay/seconds.h"
#include "fsdp_replay/step_length.h"

namespace railweave::perf::fsdp_replay {
namespace {

// The one host keeps the state share of the many hosts' run. With its own share, eight devices would not hold the
// model.
Result<Comparison> compare_scaling(const PublishedScaling::Case& one, const Parameters& parameters) {
  const std::string& model = parameters.scaling.model;
  Comparison made;
  made.name = one.name;
  made.published = one.published;
  made.hosts = one.hosts;
  made.batch = one.batch;
  RW_ASSIGN_OR_RETURN(made.trace, make_trace(model, parameters.models.at(model), one.batch, one.hosts, parameters));
  const Setting one_host = as_nccl(ring_of(parameters, 1), one.limiter);
  RW_ASSIGN_OR_RETURN(const Outcome alone, replay(made.trace, one_host, parameters));
  Ring ring = ring_of(parameters, one.hosts);
  ring.latency = parameters.scaling.host_step_latency;
  RW_ASSIGN_OR_RETURN(made.outcome, replay(made.trace, as_nccl(ring, one.limiter), parameters));
  made.value = in_seconds(alone.step) / in_seconds(made.outcome.step);
  made.replayed = fmt::format("{:.0f} %", 100 * made.value);
  return made;
}

Result<Trace> communication_bound_trace(const PublishedBound& bound, const Ring& ring, const Parameters& parameters) {
  Trace trace;
  trace.name = "communication-bound";
  Layer layer;
  layer.gather_bytes = std::size_t(bound.parameters * parameters.bytes_per_parameter / bound.units);
  layer.reduce_bytes = layer.gather_bytes;
  trace.layers.assign(std::size_t(bound.units), layer);
  RW_TRY(check_length_to_play(trace, ring, parameters));  // before times are computed from the trace
  // Two gathers and a reduction; backward computes twice as long as forward.
  const double computing_s = bound.compute_share * 3 * in_seconds(ring.alone(layer.gather_bytes));
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    Layer& block = trace.layers[i];
    block.name = "block " + std::to_string(i);
    block.forward = from_seconds(computing_s / 3);
    block.backward = 2 * block.forward;
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
  RW_ASSIGN_OR_RETURN(const Trace trace, communication_bound_trace(bound, ring, parameters));
  RW_ASSIGN_OR_RETURN(const Outcome free, replay(trace, as_nccl(ring, LimiterKind::none), parameters));
  for (const LimiterKind limiter : {LimiterKind::block_and_flush, LimiterKind::sliding}) {
    Comparison made;
    made.name = fmt::format("communication-bound, {}", name_of(limiter));
    made.published = bound.published;
    made.hosts = bound.hosts;
    made.trace = trace;
    RW_ASSIGN_OR_RETURN(made.outcome, replay(trace, as_nccl(ring, limiter), parameters));
    made.value = in_seconds(made.outcome.step) / in_seconds(free.step) - 1;
    made.replayed = fmt::format("{:.1f} % slower", 100 * made.value);
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace railweave::perf::fsdp_replay
