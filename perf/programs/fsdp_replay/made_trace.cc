#include "fsdp_replay/made_trace.h"

#include <fmt/core.h>

#include "fsdp_replay/json_reader.h"
#include "fsdp_replay/seconds.h"

namespace railweave::perf::fsdp_replay {

Result<Trace> make_trace(const std::string& name, const ModelShape& model, double batch, int hosts,
                         const Parameters& parameters) {
  Trace trace;
  trace.name = name;
  double all_parameters = 0;
  for (const ModelShape::Unit& unit : model.units) {
    // Each token takes one multiplication and one addition per parameter, and two of each per other token.
    const double per_token = 2 * unit.parameters + 4 * model.sequence * unit.attention_width;
    const double forward_s = unit.computes ? per_token * model.sequence * batch / model.flops : 0;
    Layer layer;
    layer.gather_bytes = layer.reduce_bytes = std::size_t(unit.parameters * parameters.bytes_per_parameter);
    layer.forward = from_seconds(forward_s);
    layer.backward = from_seconds(forward_s * (model.recompute ? 3 : 2));
    for (int i = 0; i < unit.count; ++i) {
      layer.name = unit.count == 1 ? unit.name : unit.name + ' ' + std::to_string(i);
      trace.layers.push_back(layer);
    }
    all_parameters += unit.parameters * unit.count;
  }
  const double state = all_parameters * parameters.state_bytes_per_parameter / (hosts * parameters.ranks_per_host);
  const double resident = state + model.activation_bytes_per_sample * batch;
  if (resident > JsonReader::kBytesMost) {
    return Status(
        Code::invalid_argument, Scope::request,
        fmt::format("{}: found {:.3g} bytes of state and activations of a device, at batch {}, expected {:.3g} or less",
                    name, resident, batch, JsonReader::kBytesMost));
  }
  trace.resident_bytes = std::size_t(resident);
  return trace;
}

}  // namespace railweave::perf::fsdp_replay
