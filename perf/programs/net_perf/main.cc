// net_perf: drives any NCCL net plugin between two ranks through its C tables, as NCCL's proxy does, and measures.

#include "base/error.h"

#include <nlohmann/json.hpp>
#include "common/console.h"
#include "common/machine.h"
#include "common/program.h"
#include "common/report.h"
#include "net_perf/file_transfer.h"
#include "net_perf/ping_pong.h"
#include "net_perf/throughput.h"

namespace railweave::perf::net_perf {
namespace {

using nlohmann::json;

void print_file(const json& file) {
  say("{}: {} bytes\n  sent     {}\n  received {}  {}\n", file["path"].get<std::string>(),
      file["bytes"].get<std::uint64_t>(), file["sha256_sent"].get<std::string>(),
      file["sha256_received"].get<std::string>(), file["match"].get<bool>() ? "the same" : "DIFFERENT");
}

Status run_ping_pong(const RankRun& run, json& document) {
  RW_ASSIGN_OR_RETURN(document["results"], measure_ping_pong(run));
  if (run.rank() == 0) summarise_latency(document);
  return {};
}

// Returns an error if contents arrived altered.
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
  const json& verify = result["verify"];  // null without --verify
  document["summary"] = {{"goodput_gbps", result["goodput_gbps"]},
                         {"machine_s_per_gb", result["cpu"]["machine_s_per_gb"]},
                         {"verify_errors", verify.is_object() ? verify["errors"] : json(0)}};
  if (run.rank() == 0) {
    print_throughput(result);
    if (verify.is_object()) {
      say("  compared {} messages, {} of them wrong\n", verify["messages_checked"].get<std::uint64_t>(),
          verify["errors"].get<std::uint64_t>());
    }
    if (result.contains("file")) print_file(result["file"]);
  }
  const Status verdict = judge(result);
  document["results"].push_back(std::move(result));
  return verdict;
}

Status run(ControlConnection& control, const Options& options, const std::vector<std::string>& command) {
  const int sockets_before = open_sockets();
  RW_ASSIGN_OR_RETURN(const std::unique_ptr<Plugin> plugin, Plugin::load(options));
  json document = new_document("net_perf", options.mode, command);
  document["plugin"] = plugin->to_json();
  RW_TRY(control.barrier());
  const RankRun rank{*plugin, control, options, measure_background_share(options.baseline_s), sockets_before};
  const Status verdict = options.mode == "pingpong" ? run_ping_pong(rank, document) : run_load(rank, document);
  if (control.rank() == 0 && !options.json_path.empty() && !document["results"].empty()) {
    RW_TRY(write_document(options.json_path, document));
  }
  RW_TRY(verdict);
  return control.barrier();
}

}  // namespace
}  // namespace railweave::perf::net_perf

int main(int argc, char** argv) {
  using namespace railweave::perf;
  return run_program(argc, argv,
                     "Drives an NCCL net plugin between two ranks by its tables, as NCCL's proxy does, and measures.",
                     &net_perf::add_options, &net_perf::run);
}
