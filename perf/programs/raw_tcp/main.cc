// raw_tcp: measures plain TCP sockets, polled without blocking, as the yardstick for net_perf.
#include "base/error.h"

#include <nlohmann/json.hpp>
#include "common/machine.h"
#include "common/program.h"
#include "common/report.h"
#include "raw_tcp/ping_pong.h"
#include "raw_tcp/throughput.h"

namespace railweave::perf::raw_tcp {
namespace {

using nlohmann::json;

// The sets of rails to measure, as asked for: each rail alone, then all together.
std::vector<std::vector<RailAddress>> rail_sets(const std::vector<RailAddress>& rails, const Options& options) {
  std::vector<std::vector<RailAddress>> sets;
  if (!options.together_only) {
    for (const auto& rail : rails) sets.push_back({rail});
  }
  if (options.together || options.together_only) sets.push_back(rails);
  return sets;
}

Status run_throughput(ControlConnection& control, const std::vector<RailAddress>& rails, const Options& options,
                      json& document) {
  const double baseline_share = measure_background_share(options.baseline_s);
  json per_rail = json::object(), together;
  double sum = 0;
  const auto sets = rail_sets(rails, options);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    RW_ASSIGN_OR_RETURN(json result, measure_throughput(control, sets[i], options, baseline_share));
    const bool alone = !options.together_only && i < rails.size();
    if (alone) {
      per_rail[sets[i][0].label] = result["goodput_gbps"];
      sum += result["goodput_gbps"].get<double>();
    } else {
      together = result["goodput_gbps"];
    }
    if (control.rank() == 0) print_throughput(result);
    document["results"].push_back(std::move(result));
  }
  document["summary"] = {{"per_rail_gbps", per_rail}, {"sum_gbps", sum}, {"together_gbps", together}};
  return {};
}

Status run_ping_pong(ControlConnection& control, const RailAddress& rail, const Options& options, json& document) {
  RW_ASSIGN_OR_RETURN(document["results"], measure_ping_pong(control, rail, options));
  if (control.rank() == 0) summarise_latency(document);
  return {};
}

Status run(ControlConnection& control, const Options& options, const std::vector<std::string>& command) {
  RW_ASSIGN_OR_RETURN(const auto rails, find_rails(options.rails));
  json document = new_document("raw_tcp", options.mode, command);
  RW_TRY(options.mode == "pingpong" ? run_ping_pong(control, rails[0], options, document)
                                    : run_throughput(control, rails, options, document));
  document["congestion_control"] = document["results"][0]["congestion_control"];
  if (control.rank() != 0 || options.json_path.empty()) return {};
  return write_document(options.json_path, document);
}

}  // namespace
}  // namespace railweave::perf::raw_tcp

int main(int argc, char** argv) {
  using namespace railweave::perf;
  return run_program(argc, argv,
                     "A minimal polling TCP sender and receiver between two ranks, one socket per rail and direction.",
                     &raw_tcp::add_options, &raw_tcp::run);
}
