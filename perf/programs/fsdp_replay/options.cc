#include "fsdp_replay/options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "common/command_line.h"
#include "common/output_file.h"
#include "common/validators.h"

namespace railweave::perf::fsdp_replay {
namespace {

constexpr double kLeastGbps = 1e-6;  // 125 bytes a second: the fluid network shares out at least one

constexpr std::string_view kPlays[] = {"--policy", "--limiter", "--one-line", "--mode"};

Status refused(const std::string& message) { return Status(Code::invalid_argument, Scope::request, message); }

}  // namespace

void add_options(CLI::App& app, Options& o) {
  app.add_option("--model", o.models, "steps made from the parameter file's models, as 7B,70B")->delimiter(',');
  app.add_option("--trace", o.traces, "recorded steps (JSON; docs/guide/replay.md)")->delimiter(',');
  app.add_option("--random", o.random, "so many steps made by chance, the same ones each time")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  app.add_option("--hosts", o.hosts, "how many hosts share each step, as 8,64,512")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--batch", o.batch, "samples of a device in --model's steps; 0: the model's own")
      ->check(number_between(0, 1e6))
      ->capture_default_str();
  app.add_option("--policy", o.policy_texts, "the scheduler's: off, auto, window:N (operations), window:64M (bytes)")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--limiter", o.limiter_texts, "of the CPU threads' all-gathers: none, block_and_flush, sliding")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--one-line", o.one_line, "gathers and reductions in one order, as on one NCCL communicator");
  app.add_option("--mode", o.mode_text,
                 fmt::format("segments, fluid, or auto: segments up to {} hosts", kSegmentHostsMost))
      ->capture_default_str();
  app.add_flag("--bound", o.bound, "only how short each step could be: its longest path on one wire");
  app.add_option("--wire-gbps", o.wire_gbps, "of a host each way; 0: the parameter file's")
      ->check(number_between(0, 1e6))
      ->capture_default_str();
  app.add_flag("--published", o.published,
               "instead: the figures published of FSDP's limiters, and what comes out here");
  app.add_option("--parameters", o.parameters_path, "values of machines and models, with their sources")
      ->capture_default_str();
  app.add_option("--json", o.json_path, "write the results there")->check(not_empty());
  app.add_option("--write-trace", o.written_trace, "write the one step that --model makes, and play nothing")
      ->check(not_empty());
}

Status check_option_words(std::span<const char* const> words) {
  constexpr std::string_view kNotPublished[] = {"--model", "--trace",     "--random", "--hosts",
                                                "--batch", "--wire-gbps", "--bound",  "--write-trace"};
  constexpr std::string_view kNotWritten[] = {"--json", "--wire-gbps", "--bound"};
  RW_TRY(check_not_beside("--published", kNotPublished, words));
  RW_TRY(check_not_beside("--published", kPlays, words));
  RW_TRY(check_not_beside("--write-trace", kNotWritten, words));
  RW_TRY(check_not_beside("--write-trace", kPlays, words));
  return check_not_beside("--bound", kPlays, words);
}

Status Options::resolve() {
  if (!published && traces.empty() && models.empty() && random == 0) {
    return refused("found nothing to play, expected --model, --trace, --random or --published");
  }
  if (batch > 0 && models.empty()) return refused("--batch: found without --model, expected both: traces have theirs");
  if (wire_gbps > 0 && wire_gbps < kLeastGbps) {
    return refused(fmt::format("--wire-gbps: found {}, expected 0, or {} or more", wire_gbps, kLeastGbps));
  }
  if (!written_trace.empty() && (models.size() != 1 || !traces.empty() || random > 0 || hosts.size() != 1)) {
    return refused("--write-trace: expected one --model and one of --hosts, and neither --trace nor --random");
  }
  for (const std::string& text : policy_texts) {
    auto policy = collectives::parse_policy(text);
    if (!policy.ok()) {
      return refused("--policy: found '" + text +
                     "', expected off, auto, window:N (operations) or window:BYTES (as 64M)");
    }
    policies.push_back(*policy);
  }
  for (const std::string& text : limiter_texts) {
    RW_TRY(take("--limiter", parse_limiter(text), limiters.emplace_back()));
  }
  if (mode_text == "segments") {
    mode = Mode::segments;
  } else if (mode_text == "fluid") {
    mode = Mode::fluid;
  } else if (mode_text != "auto") {
    return refused("--mode: found '" + mode_text + "', expected segments, fluid or auto");
  }
  for (const int one : hosts) {
    if (mode == Mode::segments && one > kSegmentHostsMost) {
      return refused(
          fmt::format("--mode: segments are played on up to {} hosts, found {} of --hosts", kSegmentHostsMost, one));
    }
  }
  if (!written_trace.empty()) RW_TRY(check_output_file(written_trace));
  return json_path.empty() ? Status() : check_output_file(json_path);
}

}  // namespace railweave::perf::fsdp_replay
