// net_perf: drives any NCCL net plugin between two ranks by its C tables, as NCCL's proxy does, and measures.
#include <fmt/core.h>

#include "base/error.h"
#include "common/machine.h"
#include "common/report.h"
#include "net_perf/file_transfer.h"
#include "net_perf/ping_pong.h"
#include "net_perf/throughput.h"

namespace railweave::perf::net_perf {
namespace {

using nlohmann::json;

void print_file(const json& file) {
  fmt::print("{}: {} bytes\n  sent     {}\n  received {}  {}\n", file["path"].get<std::string>(),
             file["bytes"].get<std::uint64_t>(), file["sha256_sent"].get<std::string>(),
             file["sha256_received"].get<std::string>(), file["match"].get<bool>() ? "the same" : "DIFFERENT");
}

Status run_ping_pong(const RankRun& run, json& document) {
  RW_ASSIGN_OR_RETURN(document["results"], measure_ping_pong(run));
  if (run.rank() != 0) return {};
  print_latency_heading();
  for (const auto& result : document["results"]) {
    print_latency(result);
    const std::string size = std::to_string(result["size"].get<std::size_t>());
    document["summary"]["p50_us"][size] = result["rtt_us"]["p50"];
    document["summary"]["p99_us"][size] = result["rtt_us"]["p99"];
  }
  return {};
}

// A status for contents that did not arrive as they were sent.
Status judge(const json& result) {
  if (result.contains("file") && !result["file"]["match"].get<bool>()) {
    return Status(Code::internal, Scope::engine, "the file arrived changed");
  }
  if (result["verify"].is_object() && result["verify"]["errors"].get<std::uint64_t>() > 0) {
    return Status(Code::internal, Scope::engine, "some messages arrived changed");
  }
  return {};
}

Status run_load(const RankRun& run, json& document) {
  RW_ASSIGN_OR_RETURN(json result, run.options.file.empty() ? measure_throughput(run) : transfer_file(run));
  const json& verify = result["verify"];
  document["summary"] = {{"goodput_gbps", result["goodput_gbps"]},
                         {"machine_s_per_gb", result["cpu"]["machine_s_per_gb"]},
                         {"verify_errors", verify.is_object() ? verify["errors"] : json(0)}};
  if (run.rank() == 0) {
    print_throughput(result);
    if (result.contains("file")) print_file(result["file"]);
  }
  const Status verdict = judge(result);
  document["results"].push_back(std::move(result));
  return verdict;
}

Status run_rank(Rendezvous& rendezvous, const Options& options, const std::vector<std::string>& command) {
  const int sockets_before = open_sockets();
  RW_ASSIGN_OR_RETURN(const std::unique_ptr<Plugin> plugin, Plugin::load(options));
  json document = new_document("net_perf", options.mode, command);
  document["plugin"] = plugin->to_json();
  RW_TRY(rendezvous.barrier());
  const RankRun run{*plugin, rendezvous, options, measure_background_share(options.baseline_s), sockets_before};
  const Status verdict = options.mode == "pingpong" ? run_ping_pong(run, document) : run_load(run, document);
  if (rendezvous.rank() == 0 && !options.json_path.empty() && !document["results"].empty()) {
    RW_TRY(write_document(options.json_path, document));
  }
  RW_TRY(verdict);
  return rendezvous.barrier();
}

}  // namespace
}  // namespace railweave::perf::net_perf

int main(int argc, char** argv) {
  using namespace railweave::perf;
  CLI::App app{"Drives an NCCL net plugin between two ranks by its tables, as NCCL's proxy does, and measures."};
  net_perf::Options options;
  net_perf::add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  if (const auto status = options.resolve(); !status.ok()) {
    fmt::print(stderr, "{}\n", status.message());
    return 1;
  }
  const std::vector<std::string> command(argv, argv + argc);
  return run_rank(options.ranks,
                  [&](Rendezvous& rendezvous) { return net_perf::run_rank(rendezvous, options, command); });
}
