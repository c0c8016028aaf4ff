#include "fsdp_replay/steps.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "fsdp_replay/made_trace.h"
#include "fsdp_replay/random_trace.h"
#include "fsdp_replay/replay.h"
#include "fsdp_replay/step_length.h"

namespace railweave::perf::fsdp_replay {

Result<std::vector<Step>> steps_of(const Options& options, const Parameters& parameters) {
  std::vector<Step> steps;
  for (const std::string& name : options.models) {
    const auto model = parameters.models.find(name);
    if (model == parameters.models.end()) {
      std::string known;
      for (const auto& [one, shape] : parameters.models) known += (known.empty() ? "" : ", ") + one;
      return Status(Code::invalid_argument, Scope::request,
                    fmt::format("--model: found '{}', expected one of {} ({})", name, known, options.parameters_path));
    }
    const double batch = options.batch > 0 ? options.batch : model->second.batch;
    for (const int hosts : options.hosts) {
      RW_ASSIGN_OR_RETURN(Trace trace, make_trace(name, model->second, batch, hosts, parameters));
      steps.push_back({std::move(trace), hosts});
    }
  }
  for (const std::string& path : options.traces) {
    RW_ASSIGN_OR_RETURN(const Trace trace, read_trace(path));
    for (const int hosts : options.hosts) steps.push_back({trace, hosts});
  }
  for (int seed = 0; seed < options.random; ++seed) {
    const Trace trace = random_trace(std::uint64_t(seed), parameters.wire);
    for (const int hosts : options.hosts) steps.push_back({trace, hosts});
  }
  if (!options.written_trace.empty()) return steps;
  for (const Step& step : steps) {
    const Ring ring = ring_of(parameters, step.hosts);
    RW_TRY(options.bound ? check_length_to_bound(step.trace, ring)
                         : check_length_to_play(step.trace, ring, parameters));
  }
  return steps;
}

}  // namespace railweave::perf::fsdp_replay
