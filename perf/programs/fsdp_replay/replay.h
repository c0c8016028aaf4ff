// Replays a step through the scheduler in virtual time (docs/guide/replay.md defines the model).
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

// One host: a ring of its ranks.
Ring ring_of(const Parameters& parameters, int hosts);

struct Setting {
  Ring ring;
  Mode mode = Mode::segments;
  collectives::Window window;  // all zero: off
  LimiterKind limiter = LimiterKind::none;
  bool one_line = false;
  std::vector<collectives::Scheduler::Lead> leads{};  // as in Admission::Options
};

struct Outcome {
  Nanos step{};
  Nanos exposed{};  // time of the step with neither computing nor the optimizer
  std::size_t memory_most = 0;
  int failed_allocations = 0;
  Admission::Live live_most;                          // as the scheduler counts; 0 while it is off
  std::vector<collectives::Scheduler::Lead> leads{};  // observed; the shortest of all ranks, by operation
};

// Errors: exhausted if the trace does not fit the device's memory; internal if the replay does not end; those of
// check_length_to_play().
Result<Outcome> replay(const Trace& trace, const Setting& setting, const Parameters& parameters);
// Replays the settled policy `auto`. Plays each candidate once, with the leads observed under `off`, and chooses as
// collectives/scheduler/step_learner.h does. Ignores the setting's window and leads.
Result<Outcome> replay_auto(const Trace& trace, const Setting& setting, const Parameters& parameters);

}  // namespace railweave::perf::fsdp_replay
