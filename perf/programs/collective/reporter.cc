#include "collective/reporter.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/fd.h"
#include "collective/open_row.h"
#include "common/output_file.h"

namespace railweave::perf::collective {
namespace {

using nlohmann::ordered_json;

constexpr int kSchema = 3;  // number of nccl-tests' own schema

void show(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// nccl-tests writes booleans as words.
const char* word(bool truth) { return truth ? "true" : "false"; }

// Selects variables by prefix. Results are kept and shared, so they hold no other part of the environment.
bool matters(std::string_view variable) { return variable.starts_with("NCCL_") || variable.starts_with("RAILWEAVE_"); }

ordered_json config_of(const Options& o) {
  ordered_json config{
      {"nthreads", o.threads}, {"ngpus", o.gpus}, {"minimum_bytes", o.min_bytes}, {"maximum_bytes", o.max_bytes}};
  if (o.step_factor > 1) {
    config["step_factor"] = o.step_factor;
  } else {
    config["step_bytes"] = o.step_bytes;
  }
  config["warmup_iters"] = o.warmup;
  config["iterations"] = o.iterations;
  config["aggregated_iterations"] = o.aggregated;
  config["validation"] = o.checks;
  config["graph"] = 0;
  config["blocking_collectives"] = word(o.blocking > 0);
  config["per_iter_timing"] = word(o.per_iteration);
  config["per_iter_skip"] = o.skipped;
  config["parallel_init"] = word(o.parallel_init == 1);
  return config;
}

ordered_json device_of(const DeviceEntry& e) {
  return {{"rank", e.rank},     {"group", e.group},    {"pid", e.pid},         {"hostname", e.host},
          {"device", e.device}, {"device_hex", e.bus}, {"device_info", e.name}};
}

ordered_json iterations_of(const IterationTimes& it) {
  return {{"min_us", it.min_us},         {"max_us", it.max_us},
          {"avg_us", it.mean_us},        {"p50_us", it.p50_us},
          {"p95_us", it.p95_us},         {"p99_us", it.p99_us},
          {"stdev_us", it.deviation_us}, {"cv_pct", it.variation_percent()},
          {"times_us", it.times_us}};
}

}  // namespace

Status check_json_path(const std::string& path) {
  return path.empty() || is_there(path) ? Status() : check_output_file(path);
}

Reporter::Reporter(const Operation& operation, const Options& options, std::vector<std::string> command)
    : operation_(operation), options_(options) {
  document_ = {{"version", kSchema},
               {"start_time", time_text()},
               {"args", std::move(command)},
               {"env", ordered_json::array()},
               {"nccl_version", 0}};
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    if (matters(*variable)) document_["env"].push_back(*variable);
  }
}

Reporter::~Reporter() {
  if (claimed_) ::unlink(json_path_.c_str());
}

// Never overwrites: takes the next free name of FILE, FILE.0, FILE.1, ...
Status Reporter::claim_json_file() {
  const std::string& asked = options_.json_path;
  if (asked.empty()) return {};
  RW_TRY(check_json_path(asked));
  std::string path = asked;
  for (int attempt = 0; !claimed_ && !is_stream(asked); ++attempt) {
    claimed_ = bool(OwnedFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)));
    if (claimed_) break;
    if (errno != EEXIST) return system_error(Scope::request, "cannot write " + path);
    path = fmt::format("{}.{}", asked, attempt);
  }
  json_path_ = path;
  show(fmt::format("# Writing JSON output to {}\n", path));
  return {};
}

void Reporter::begin(const std::vector<DeviceEntry>& devices, bool reduced) {
  std::string text = banner_text(options_, operation_.program);
  document_["config"] = config_of(options_);
  document_["config"]["devices"] = ordered_json::array();
  for (const auto& entry : devices) {
    text += device_text(entry);
    document_["config"]["devices"].push_back(device_of(entry));
  }
  if (reduced) text += fmt::format("#\n# Reducing maxBytes to {} due to memory limitation\n", options_.max_bytes);
  show(text + header_text(options_));
  document_["results"] = ordered_json::array();
}

void Reporter::row(const Row& row) {
  set_row_open(true);
  show(row_text(row));
  document_["results"].push_back({{"size", row.bytes},
                                  {"count", row.count},
                                  {"type", row.type},
                                  {"redop", row.reduction},
                                  {"root", fmt::format("{:6}", row.root)}});
}

void Reporter::measured(const Measured& m, bool in_place) {
  set_row_open(true);  // a warning may have ended the row
  show(measured_text(m));
  ordered_json& result = document_["results"].back();
  const std::string name = in_place ? "in_place" : "out_of_place";
  result[name] = {{options_.cpu_time ? "cpu_time" : "time", m.time_us},
                  {"alg_bw", m.algbw},
                  {"bus_bw", m.busbw},
                  {"nwrong", m.wrong ? ordered_json(double(*m.wrong)) : ordered_json()}};
  if (m.iterations) result[name + "_per_iter"] = iterations_of(*m.iterations);
}

void Reporter::row_end() {
  show(row_end_text(options_, time_text()));
  set_row_open(false);
  ordered_json& result = document_["results"].back();
  result["actual_iterations"] = options_.iterations;
  result["experiment_name"] = operation_.name;
}

Status Reporter::end(const Summary& s) {
  show(footer_text(s, operation_.program));
  if (json_path_.empty()) return {};
  document_["out_of_bounds"] = {{"count", s.failures}, {"okay", word(s.failures == 0)}};
  document_["average_bus_bandwidth"] = {{"bandwidth", s.mean_busbw},
                                        {"okay", s.min_bandwidth == -1 ? "unchecked" : word(!s.slow())}};
  document_["end_time"] = time_text();
  const std::string text = document_.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
  RW_TRY(write_output_file(json_path_, text));
  claimed_ = false;
  return {};
}

}  // namespace railweave::perf::collective
