// Plays a step through the scheduler, in virtual time (docs/guide/replay.md says what is played).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/scheduler/scheduler.h"
#include "collectives/scheduler/window.h"
#include "fsdp_replay/limiter.h"
#include "fsdp_replay/network.h"
#include "fsdp_replay/parameters.h"
#include "fsdp_replay/trace.h"

namespace railweave::perf::fsdp_replay {

enum class Mode { segments, fluid };
inline constexpr int kSegmentHostsMost = 16;

inline std::string_view name_of(Mode mode) { return mode == Mode::segments ? "segments" : "fluid"; }
inline Mode mode_for(int hosts) { return hosts <= kSegmentHostsMost ? Mode::segments : Mode::fluid; }

// One host: its ranks.
Ring ring_of(const Parameters& parameters, int hosts);

struct Setting {
  Ring ring;
  Mode mode = Mode::segments;
  collectives::Window window;  // all zero: off
  LimiterKind limiter = LimiterKind::none;
  bool one_line = false;
  std::vector<collectives::Scheduler::Lead> leads{};  // as Admission::Options'
};

struct Outcome {
  Nanos step{};
  Nanos exposed{};  // of the step: neither computing nor the optimizer
  std::size_t memory_most = 0;
  int failed_allocations = 0;
  Admission::Live live_most;                          // as the scheduler counts; 0 where it is off
  std::vector<collectives::Scheduler::Lead> leads{};  // as they showed, of all ranks the shortest; by operation
};

// Errors: exhausted, where the trace fits no device of this memory; internal, where the replay comes to no end;
// check_length_to_play()'s.
Result<Outcome> replay(const Trace& trace, const Setting& setting, const Parameters& parameters);
// Under `auto`, once it has settled: each candidate is played once, with the leads that `off` showed, and the choice is
// collectives/scheduler/step_learner.h's. The setting's window and leads do not count.
Result<Outcome> replay_auto(const Trace& trace, const Setting& setting, const Parameters& parameters);

}  // namespace railweave::perf::fsdp_replay
