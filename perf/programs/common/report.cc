#include "common/report.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ctime>

#include "common/console.h"
#include "common/machine.h"
#include "common/output_file.h"
#include "common/sizes.h"

namespace railweave::perf {
namespace {

using nlohmann::json;

double gbps(double bytes, double seconds) { return seconds > 0 ? bytes * 8 / seconds / 1e9 : 0; }

// Moves the flows of both ranks into the result and adds the rate of the slowest one.
void lift_flows(json& result, json& rank0, json& rank1) {
  json flows = json::array();
  double slowest = 0;
  for (json* rank : {&rank0, &rank1}) {
    for (auto& flow : (*rank)["flows"]) {
      const double rate = flow["gbps"];
      slowest = flows.empty() ? rate : std::min(slowest, rate);
      flows.push_back(std::move(flow));
    }
    rank->erase("flows");
  }
  result["slowest_flow_gbps"] = slowest;
  result["flows_times_slowest_gbps"] = slowest * double(flows.size());
  result["flows"] = std::move(flows);
}

json cpu_of(const json& rank0, const json& rank1, double bytes, double baseline_share) {
  const double gb = bytes / 1e9;
  const auto per_gb = [&](double s) { return gb > 0 ? s / gb : 0; };
  const double use0 = rank0["cpu_user_s"].get<double>() + rank0["cpu_sys_s"].get<double>();
  const double use1 = rank1["cpu_user_s"].get<double>() + rank1["cpu_sys_s"].get<double>();
  const double busy = rank1["machine_busy_s"], seconds = rank1["seconds"];
  return {{"rank0_s", use0},
          {"rank1_s", use1},
          {"rank0_s_per_gb", per_gb(use0)},
          {"rank1_s_per_gb", per_gb(use1)},
          {"machine_busy_s", busy},
          {"machine_baseline_share", baseline_share},
          {"machine_s_per_gb", per_gb(busy - baseline_share * seconds)}};
}

}  // namespace

json new_document(const std::string& program, const std::string& mode, const std::vector<std::string>& command) {
  return {{"schema", 1},
          {"program", program},
          {"mode", mode},
          {"command", command},
          {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"machine", machine_description()},
          {"results", json::array()}};
}

json flow_entry(int from, int to, int index, const json& rail, std::uint64_t bytes, double seconds) {
  return {{"from", from},
          {"to", to},
          {"index", index},
          {"rail", rail},
          {"bytes", bytes},
          {"seconds", seconds},
          {"gbps", gbps(double(bytes), seconds)}};
}

json merge_ranks(json rank0, json rank1, double baseline_share) {
  json result;
  json directions = json::object();
  double bytes = 0, goodput = 0, seconds = 0, messages = 0;
  const std::pair<const json&, const char*> receivers[] = {{rank1, "0->1"}, {rank0, "1->0"}};
  for (const auto& [rank, direction] : receivers) {
    if (rank["flows"].empty()) continue;
    const double got = rank["received_bytes"], took = rank["seconds"];
    directions[direction] = gbps(got, took);
    bytes += got;
    messages += rank["received_messages"].get<double>();
    goodput += gbps(got, took);
    seconds = std::max(seconds, took);
  }
  result["seconds"] = seconds;
  result["bytes"] = std::uint64_t(bytes);
  result["messages"] = std::uint64_t(messages);
  result["goodput_gbps"] = goodput;
  result["per_direction_gbps"] = std::move(directions);
  lift_flows(result, rank0, rank1);
  result["events"] = rank0.value("events", json::array());
  rank0.erase("events");
  result["cpu"] = cpu_of(rank0, rank1, bytes, baseline_share);
  result["ranks"] = json::array({std::move(rank0), std::move(rank1)});
  return result;
}

std::string json_text(const json& document, int indent) {
  return document.dump(indent, ' ', false, json::error_handler_t::replace);
}

Status write_document(const std::string& path, const json& document) {
  return write_output_file(path, json_text(document, 1) + '\n');
}

void print_throughput(const json& result) {
  const json& cpu = result["cpu"];
  say("{:>10} {:>8} {:>10} {:>9} {:>9} {:>9}   CPU s/GB: rank 0 {:.3f}, rank 1 {:.3f}, machine {:.3f}\n", "GB", "s",
      "messages", "Gb/s", "0->1", "1->0", cpu["rank0_s_per_gb"].get<double>(), cpu["rank1_s_per_gb"].get<double>(),
      cpu["machine_s_per_gb"].get<double>());
  const json& directions = result["per_direction_gbps"];
  say("{:>10.3f} {:>8.3f} {:>10} {:>9.3f} {:>9.3f} {:>9.3f}\n", result["bytes"].get<double>() / 1e9,
      result["seconds"].get<double>(), result["messages"].get<std::uint64_t>(), result["goodput_gbps"].get<double>(),
      directions.value("0->1", 0.0), directions.value("1->0", 0.0));
  for (const auto& rank : result["ranks"]) {
    const double seconds = rank["seconds"];
    for (const auto& [name, counters] : rank["rails"].items()) {
      say("  rank {} {:<12} out {:>8.3f} Gb/s   in {:>8.3f} Gb/s   drops {}\n", rank["rank"].get<int>(), name,
          gbps(counters["tx_bytes"], seconds), gbps(counters["rx_bytes"], seconds),
          counters["drops"].get<std::uint64_t>());
    }
  }
}

void summarise_latency(json& document) {
  say("{:>8} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9}   round trip, microseconds\n", "size", "trips", "min", "p50", "p90",
      "p99", "max");
  for (const auto& result : document["results"]) {
    const auto bytes = result["size"].get<std::size_t>();
    const json& rtt = result["rtt_us"];
    say("{:>8} {:>10} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f}\n", format_size(bytes),
        result["iterations"].get<std::uint64_t>(), rtt["min"].get<double>(), rtt["p50"].get<double>(),
        rtt["p90"].get<double>(), rtt["p99"].get<double>(), rtt["max"].get<double>());
    document["summary"]["p50_us"][std::to_string(bytes)] = rtt["p50"];
    document["summary"]["p99_us"][std::to_string(bytes)] = rtt["p99"];
  }
}

}  // namespace railweave::perf
