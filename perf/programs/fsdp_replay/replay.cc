#include "fsdp_replay/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/error.h"
#include "collectives/scheduler/step_learner.h"
#include "fsdp_replay/fluid_network.h"
#include "fsdp_replay/rank.h"
#include "fsdp_replay/seconds.h"
#include "fsdp_replay/segment_network.h"
#include "fsdp_replay/step_length.h"

namespace railweave::perf::fsdp_replay {
namespace {

class Play final : public Network::User {
 public:
  Play(const Trace& trace, const Setting& setting, const Parameters& parameters)
      : trace_(trace),
        setting_(setting),
        parameters_(parameters),
        program_(fsdp_step(trace, parameters.forward_prefetch, parameters.backward_prefetch)) {
    const Admission::Options admission{setting.window, setting.one_line, setting.leads, parameters.channels_per_class};
    if (setting.mode == Mode::segments) {
      network_ =
          std::make_unique<SegmentNetwork>(events_, program_, setting.ring, admission, parameters.segment_bytes, *this);
    } else {
      network_ = std::make_unique<FluidNetwork>(events_, program_, setting.ring, admission, *this);
    }
  }

  Result<Outcome> run() {
    const std::size_t members = setting_.mode == Mode::segments ? std::size_t(setting_.ring.members) : 1;
    const std::size_t limit = std::size_t(parameters_.limiter_gathers) * trace_.largest_gather();
    const Rank::Options options{parameters_.launch, parameters_.wake, parameters_.synchronize, trace_.optimizer,
                                setting_.one_line};
    if (trace_.resident_bytes > parameters_.memory_bytes) return too_large(trace_.resident_bytes);
    for (std::size_t member = 0; member < members; ++member) {
      const Limiter limiter(setting_.limiter, parameters_.limiter_gathers, limit);
      const Memory memory(parameters_.memory_bytes, trace_.resident_bytes);
      ranks_.push_back(std::make_unique<Rank>(events_, program_, options, limiter, memory, *network_, member));
    }
    for (const auto& rank : ranks_) rank->start();
    const TimePoint latest = TimePoint{} + longest();
    for (std::size_t member = 0; member < members;) {
      if (ranks_[member]->over()) {
        ++member;
      } else if (!events_.step() || events_.now() > latest) {
        return ended_early();
      }
    }
    return outcome();
  }

  void ended(std::size_t member, std::size_t operation) override { ranks_[member]->ended(operation); }

 private:
  Status ended_early() const {
    for (const auto& rank : ranks_)
      if (rank->out_of_memory()) return too_large(rank->memory().used());
    return Status(
        Code::internal, Scope::engine,
        fmt::format("{}: the replay came to no end: at {:.3f} s of at most {:.3f} s rank 0 {}", trace_.name,
                    in_seconds(events_.now() - TimePoint{}), in_seconds(longest()), ranks_.front()->standing()));
  }

  // Returns a time above any replay's: ten times everything one after the other. check_length_to_play() ensured that
  // the time fits Nanos.
  Nanos longest() const {
    Nanos all = trace_.computing() + trace_.optimizer + std::chrono::seconds(1);
    for (const auto& operation : program_.operations) all += setting_.ring.alone(operation.bytes);
    const Nanos thread = parameters_.launch + parameters_.wake + parameters_.synchronize;
    return 10 * (all + thread * std::int64_t(program_.acts.size()));
  }

  Status too_large(std::size_t held) const {
    return Status(Code::exhausted, Scope::request,
                  fmt::format("{}: a device of {:.1f} GB holds {:.1f} GB and is asked for more than fits", trace_.name,
                              double(parameters_.memory_bytes) / 1e9, double(held) / 1e9));
  }

  Outcome outcome() const {
    Outcome outcome;
    for (const auto& rank : ranks_) {
      outcome.step = std::max(outcome.step, rank->ended_at() - TimePoint{});
      outcome.memory_most = std::max(outcome.memory_most, rank->memory().most());
      outcome.failed_allocations = std::max(outcome.failed_allocations, rank->failed_allocations());
    }
    outcome.leads = ranks_.front()->leads();
    for (const auto& rank : ranks_) {
      for (std::size_t o = 0; o < outcome.leads.size(); ++o) {
        const auto lead = rank->leads()[o];
        if (lead && (!outcome.leads[o] || *lead < *outcome.leads[o])) outcome.leads[o] = lead;
      }
    }
    outcome.exposed = outcome.step - trace_.computing() - trace_.optimizer;
    outcome.live_most = network_->live_most();
    return outcome;
  }

  const Trace& trace_;
  const Setting setting_;
  const Parameters& parameters_;
  const StepProgram program_;
  EventQueue events_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace

Ring ring_of(const Parameters& parameters, int hosts) {
  if (hosts == 1) return {parameters.ranks_per_host, parameters.within, parameters.within_step_latency};
  return {hosts, parameters.wire, parameters.host_step_latency};
}

Result<Outcome> replay(const Trace& trace, const Setting& setting, const Parameters& parameters) {
  RW_TRY(check_length_to_play(trace, setting.ring, parameters));
  return Play(trace, setting, parameters).run();
}

Result<Outcome> replay_auto(const Trace& trace, const Setting& setting, const Parameters& parameters) {
  std::array<std::int64_t, collectives::kCandidates.size()> times{};
  std::vector<Outcome> outcomes;
  for (std::size_t c = 0; c < times.size(); ++c) {
    Setting candidate = setting;
    candidate.window = collectives::kCandidates[c].window;
    candidate.leads.clear();
    if (collectives::kCandidates[c].by_leads) candidate.leads = outcomes.front().leads;
    RW_ASSIGN_OR_RETURN(Outcome outcome, replay(trace, candidate, parameters));
    times[c] = outcome.step.count();
    outcomes.push_back(std::move(outcome));
  }
  return std::move(outcomes[collectives::choose_candidate(times)]);
}

}  // namespace railweave::perf::fsdp_replay
