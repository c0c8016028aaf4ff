// fsdp_replay: replays steps of FSDP through the scheduler in virtual time.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "common/command_line.h"
#include "common/console.h"
#include "common/output_file.h"
#include "common/report.h"
#include "fsdp_replay/bound.h"
#include "fsdp_replay/options.h"
#include "fsdp_replay/published.h"
#include "fsdp_replay/replay.h"
#include "fsdp_replay/steps.h"

namespace railweave::perf::fsdp_replay {
namespace {

using nlohmann::json;

double ms(Nanos time) { return double(time.count()) / 1e6; }

// Notes for each policy the worst ratio of its step to the shortest step of the other policies. `steps_ms`: of one
// trace, by policy.
void note_worst(json& worst, const std::vector<std::string>& policies, const std::vector<double>& steps_ms) {
  for (std::size_t p = 0; p < policies.size(); ++p) {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t other = 0; other < policies.size(); ++other)
      if (other != p) best = std::min(best, steps_ms[other]);
    const double before = worst.value(policies[p], 0.0);
    worst[policies[p]] = std::max(before, steps_ms[p] / best);
  }
}

json entry_of(const Step& step, Nanos bound) {
  return {{"trace", step.trace.name},
          {"hosts", step.hosts},
          {"computing_ms", ms(step.trace.computing())},
          {"bound_ms", ms(bound)}};
}

json with_outcome(json entry, const Outcome& outcome) {
  entry["step_ms"] = ms(outcome.step);
  entry["exposed_ms"] = ms(outcome.exposed);
  entry["memory_most_bytes"] = outcome.memory_most;
  entry["failed_allocations"] = outcome.failed_allocations;
  entry["live_bytes_most"] = outcome.live_most.bytes;
  entry["live_operations_most"] = outcome.live_most.operations;
  return entry;
}

void show_bounds(const std::vector<Step>& steps, const Parameters& parameters, json& results) {
  say("{:<20} {:>6} {:>13} {:>11}\n", "trace", "hosts", "computing ms", "bound ms");
  for (const Step& step : steps) {
    const Nanos bound = bound_of(step.trace, ring_of(parameters, step.hosts));
    say("{:<20} {:>6} {:>13.1f} {:>11.1f}\n", step.trace.name, step.hosts, ms(step.trace.computing()), ms(bound));
    results.push_back(entry_of(step, bound));
  }
}

// `worst`: as for note_worst(), within each limiter.
Status play(const std::vector<Step>& steps, const Options& options, const Parameters& parameters, json& results,
            json& worst) {
  say("{:<20} {:>5} {:>8} {:>13} {:>15} {:>10} {:>10} {:>9} {:>10} {:>6} {:>7} {:>6}\n", "trace", "hosts", "mode",
      "policy", "limiter", "step ms", "compute ms", "exposed", "bound ms", "bound%", "peak GB", "failed");
  for (const Step& step : steps) {
    const Ring ring = ring_of(parameters, step.hosts);
    const Nanos bound = bound_of(step.trace, ring);
    for (const LimiterKind limiter : options.limiters) {
      std::vector<double> steps_ms;
      for (std::size_t p = 0; p < options.policies.size(); ++p) {
        const Mode mode = options.mode.value_or(mode_for(step.hosts));
        const Setting setting{ring, mode, options.policies[p].window, limiter, options.one_line};
        auto play_one = options.policies[p].learns ? replay_auto : replay;
        RW_ASSIGN_OR_RETURN(const Outcome outcome, play_one(step.trace, setting, parameters));
        say("{:<20} {:>5} {:>8} {:>13} {:>15} {:>10.1f} {:>10.1f} {:>9.1f} {:>10.1f} {:>6.1f} {:>7.1f} {:>6}\n",
            step.trace.name, step.hosts, name_of(mode), options.policy_texts[p], name_of(limiter), ms(outcome.step),
            ms(step.trace.computing()), ms(outcome.exposed), ms(bound), 100 * ms(bound) / ms(outcome.step),
            double(outcome.memory_most) / 1e9, outcome.failed_allocations);
        json entry = with_outcome(entry_of(step, bound), outcome);
        entry["mode"] = name_of(mode);
        entry["policy"] = options.policy_texts[p];
        entry["limiter"] = name_of(limiter);
        entry["one_line"] = options.one_line;
        results.push_back(std::move(entry));
        steps_ms.push_back(ms(outcome.step));
      }
      if (steps_ms.size() > 1) note_worst(worst, options.policy_texts, steps_ms);
    }
  }
  return {};
}

Status show_published(const Parameters& parameters, json& results) {
  RW_ASSIGN_OR_RETURN(const std::vector<Comparison> all, compare_published(parameters));
  say("{:<36} {:>5} {:>6} {:>12} {:>14} {:>10} {:>11} {:>8} {:>6}\n", "", "hosts", "batch", "published", "replayed",
      "step ms", "compute ms", "peak GB", "failed");
  for (const Comparison& one : all) {
    const std::string batch = one.batch > 0 ? fmt::format("{:.0f}", one.batch) : "";
    say("{:<36} {:>5} {:>6} {:>12} {:>14} {:>10.0f} {:>11.0f} {:>8.1f} {:>6}\n", one.name, one.hosts, batch,
        one.published, one.replayed, ms(one.outcome.step), ms(one.trace.computing()),
        double(one.outcome.memory_most) / 1e9, one.outcome.failed_allocations);
    json entry = with_outcome({{"case", one.name}, {"hosts", one.hosts}, {"batch", one.batch}}, one.outcome);
    entry["published"] = one.published;
    entry["replayed"] = one.value;
    results.push_back(std::move(entry));
  }
  return {};
}

Status run(const Options& options, const std::vector<std::string>& command) {
  RW_ASSIGN_OR_RETURN(Parameters parameters, read_parameters(options.parameters_path));
  if (options.wire_gbps > 0) parameters.wire = Rate::from_megabits(options.wire_gbps * 1000);
  const char* const mode = options.published ? "published" : options.bound ? "bound" : "replay";
  json document = new_document("fsdp_replay", mode, command);
  json& results = document["results"];
  if (options.published) {
    RW_TRY(show_published(parameters, results));
  } else {
    RW_ASSIGN_OR_RETURN(const std::vector<Step> steps, steps_of(options, parameters));
    if (!options.written_trace.empty()) return write_trace(steps[0].trace, options.written_trace);
    if (options.bound) {
      show_bounds(steps, parameters, results);
    } else {
      json worst = json::object();
      RW_TRY(play(steps, options, parameters, results, worst));
      if (!worst.empty()) document["summary"]["times_best_other"] = worst;
      for (const auto& [policy, times] : worst.items())
        say("{}: at worst {:.4f} times the best of the other policies\n", policy, times.get<double>());
    }
  }
  return options.json_path.empty() ? Status() : write_document(options.json_path, document);
}

}  // namespace
}  // namespace railweave::perf::fsdp_replay

int main(int argc, char** argv) {
  using namespace railweave;
  using namespace railweave::perf;
  occupy_standard_streams();
  fsdp_replay::Options options;
  const char* const about =
      "Plays steps of FSDP through the scheduler of the collectives, in virtual time: how long they take under its\n"
      "policies, and how short they could be. docs/guide/replay.md says what is played and where the values come "
      "from.\n"
      "Run it in the repository's root, or say where --parameters are.\n"
      "  fsdp_replay --model 7B --hosts 8,16,64,512 --policy off,window:2,window:256M\n"
      "  fsdp_replay --trace step.json --hosts 8 --limiter none,sliding\n"
      "  fsdp_replay --published\n"
      "Exit status: 0, 1 when something failed (a step that fits no device), 2 for a wrong command line.";
  const auto add = [&](CLI::App& app) { fsdp_replay::add_options(app, options); };
  if (const auto exit_status = parse_command_line(about, add, argc, argv)) return *exit_status;
  Status wrong = fsdp_replay::check_option_words(std::span<const char* const>(argv, std::size_t(argc)));
  if (wrong.ok()) wrong = options.resolve();
  if (!wrong.ok()) {
    say(stderr, "{}\n", wrong.message());
    return 2;
  }
  try {
    const Status status = fsdp_replay::run(options, {argv, argv + argc});
    if (status.ok()) return status_of_output(0);
    std::fflush(stdout);
    say(stderr, "{}\n", status.message());
    return status.code() == Code::invalid_argument ? 2 : 1;
  } catch (const std::exception& e) {  // out of memory, mostly
    say(stderr, "ended by {}\n", e.what());
    return 1;
  }
}
