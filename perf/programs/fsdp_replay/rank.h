// One rank: a CPU thread that executes a step's program, and a device that computes the launched pieces.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "collectives/scheduler/scheduler.h"
#include "fsdp_replay/event_queue.h"
#include "fsdp_replay/limiter.h"
#include "fsdp_replay/memory.h"
#include "fsdp_replay/network.h"
#include "fsdp_replay/step_program.h"

namespace railweave::perf::fsdp_replay {

class Rank final : public EventHandler {
 public:
  struct Options {
    Nanos launch{}, wake{}, synchronize{};  // of the CPU thread: see the parameter file
    Nanos optimizer{};
    bool one_line = false;  // reductions and gathers are issued in one order
  };

  // `events`, `program` and `network` must outlive the object.
  Rank(EventQueue& events, const StepProgram& program, const Options& options, Limiter limiter, Memory memory,
       Network& network, std::size_t member);

  void start();
  // Call when the network has ended an operation of this rank.
  void ended(std::size_t operation);

  bool over() const { return over_; }
  // Returns "is over", or where the thread is and what it waits for.
  std::string standing() const;
  // Whether an allocation failed though all earlier work had ended.
  bool out_of_memory() const { return out_of_memory_; }
  TimePoint ended_at() const { return ended_at_; }
  int failed_allocations() const { return failed_allocations_; }
  const Memory& memory() const { return memory_; }
  // Leads, by operation, in bytes. A gather's lead: bytes of operations that this rank handed to the scheduler between
  // the gather and the moment its piece was due to compute. None for reductions, for which no piece waits, and for
  // operations too small for the scheduler.
  const std::vector<collectives::Scheduler::Lead>& leads() const { return leads_; }

  void happen(std::uint32_t what, std::size_t which) override;

 private:
  enum What : std::uint32_t { kThread, kComputed, kOver };
  enum class Waits { no, for_limiter, for_everything };

  void run_thread();
  bool issue(std::size_t operation);
  bool launch(std::size_t piece);
  bool allocate(std::size_t bytes);
  void hand_over();
  void compute();
  void computed();
  void wake_thread_or_end();

  EventQueue& events_;
  const StepProgram& program_;
  const Options options_;
  Limiter limiter_;
  Memory memory_;
  Network& network_;
  const std::size_t member_;

  std::size_t at_ = 0;  // next act of the thread
  Waits waits_ = Waits::no;
  bool tried_again_ = false;                 // after a failed allocation
  std::deque<std::size_t> lines_[2];         // issued by the thread, not yet to the scheduler
  std::size_t unended_ = 0;                  // issued by the thread and not ended
  std::size_t launched_ = 0, computed_ = 0;  // pieces
  bool computing_ = false;
  std::vector<bool> ended_;         // by operation
  std::uint64_t issued_bytes_ = 0;  // to the scheduler; of operations that it counts
  // value of issued_bytes_ after each counting operation; none: not issued
  std::vector<std::optional<std::uint64_t>> issued_at_;
  std::vector<collectives::Scheduler::Lead> leads_;
  bool over_ = false, out_of_memory_ = false;
  TimePoint ended_at_{};
  int failed_allocations_ = 0;
};

}  // namespace railweave::perf::fsdp_replay
