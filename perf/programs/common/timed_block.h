// The timed part of a run on one rank: when it begins and ends, what was moved, what that cost, and the course over
// time. The load does not pause at the edges of the block.
//
// Threads: one. The main loop calls tick() once a pass. The block has no thread of its own, so measuring costs little.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "common/interface_counters.h"
#include "common/machine.h"
#include "railweave/units.h"

namespace railweave::perf {

// Counters of the main loop; they only grow.
struct Totals {
  std::uint64_t sent_bytes = 0, received_bytes = 0;  // payload; of whole messages where the load has messages
  std::uint64_t sent_messages = 0, received_messages = 0;
  std::uint64_t passes = 0, idle_passes = 0, sleeps = 0;  // idle: a pass that moved nothing
};
Totals operator-(const Totals& later, const Totals& earlier);

// Senders continue this long after their block, so that the receivers' blocks end under load too.
constexpr Nanos kTail = std::chrono::milliseconds(50);

struct BlockPlan {
  Nanos warmup{0};
  Nanos duration{0};  // 0: until end() is called
  Nanos interval = std::chrono::milliseconds(50);
};

class TimedBlock {
 public:
  enum class Edge { none, begins, ends };

  TimedBlock(const BlockPlan& plan, InterfaceSampler interfaces);

  // Begins the warm-up.
  void start(TimePoint now) { due_at_ = begin_at_ = now + plan_.warmup; }
  // Returns the edge that this call crossed, so that the caller can note its own counters.
  Edge tick(TimePoint now, const Totals& totals) {
    if (now < due_at_) [[likely]]
      return Edge::none;
    return on_due(now, totals);
  }
  void end(TimePoint now, const Totals& totals);

  bool began() const { return state_ != State::warming; }
  bool ended() const { return state_ == State::over; }
  TimePoint began_at() const { return begun_; }
  Nanos length() const { return ended_ - begun_; }
  Totals moved() const { return totals_after_ - totals_before_; }

  // Makes one entry of "ranks" (docs/internals/perf.md). REQUIRES: ended().
  nlohmann::json to_json(int rank) const;

 private:
  enum class State { warming, timing, over };
  struct Sample {
    double t_s;
    std::uint64_t sent_bytes, received_bytes;
    CountersByName interfaces;
  };

  Edge on_due(TimePoint now, const Totals& totals);
  void begin(TimePoint now, const Totals& totals);
  void sample(TimePoint now, const Totals& totals);
  nlohmann::json series() const;

  BlockPlan plan_;
  InterfaceSampler interfaces_;
  State state_ = State::warming;
  TimePoint begin_at_{}, due_at_ = TimePoint::max();
  TimePoint begun_{}, ended_{};
  Totals totals_before_, totals_after_;
  CpuUse cpu_before_, cpu_after_;
  double memory_before_mib_ = 0, memory_after_mib_ = 0;
  CountersByName interfaces_before_;
  std::vector<Sample> samples_;
};

}  // namespace railweave::perf
