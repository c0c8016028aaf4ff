// Decides which operations of one member may begin their next step. Asks the scheduler in virtual time, as EngineGroup
// does in real time, and models the channels that operations of one priority share.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "collectives/scheduler/scheduler.h"
#include "collectives/scheduler/window.h"
#include "fsdp_replay/event_queue.h"
#include "fsdp_replay/step_program.h"

namespace railweave::perf::fsdp_replay {

class Admission final : public EventHandler {
 public:
  class User {
   public:
    virtual void before_turn(std::size_t member) = 0;  // called before a turn passes: report progress with moved()
    virtual void live_changed(std::size_t member) = 0;

   protected:
    ~User() = default;
  };

  struct Options {
    collectives::Window window;
    bool one_line = false;                              // gathers and reductions share one queue of priority normal
    std::vector<collectives::Scheduler::Lead> leads{};  // leads of keys, by operation; empty: those of the priorities
    int channels = 2;  // per priority: the k-th operation uses channel k mod channels; operations of one channel go one
                       // after the other
  };
  using Live = collectives::Scheduler::Live;

  // `events`, `program` and `user` must outlive the object.
  Admission(EventQueue& events, const StepProgram& program, const Options& options, User& user, std::size_t member);

  void issue(std::size_t operation);
  // Other operations may be allowed to proceed afterwards.
  void finish(std::size_t operation);
  // Returns true if other operations may be allowed to proceed, as after finish().
  bool moved(std::size_t operation);
  // REQUIRES: issued and not finished.
  bool may_go_on(std::size_t operation) const;
  Priority priority(std::size_t operation) const;
  // Returns the most operations and the most bytes that were live at once. Operations that the scheduler does not count
  // are left out.
  const Live& most_live() const { return most_live_; }

  void happen(std::uint32_t, std::size_t) override;

 private:
  using Channel = std::deque<std::size_t>;  // operations in order; only the first may proceed

  void plan_turn_and_note_live();

  EventQueue& events_;
  const StepProgram& program_;
  const Options options_;
  User& user_;
  const std::size_t member_;
  collectives::Scheduler scheduler_;
  std::vector<collectives::Scheduler::Id> ids_;  // by operation
  std::vector<Channel> channels_[kPriorities];
  std::vector<Channel*> channel_of_;  // by operation
  std::size_t issued_[kPriorities] = {};
  std::uint64_t issued_bytes_ = 0;  // V, see Scheduler::issue
  bool asks_again_ = false;         // an event is scheduled
  bool turned_ = false;             // a queue may wait for its turn
  Live most_live_;
};

// Returns the larger number of operations and the larger number of bytes.
Admission::Live most_of(const Admission::Live& a, const Admission::Live& b);

}  // namespace railweave::perf::fsdp_replay
