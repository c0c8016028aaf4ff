// Which operations of one member may begin their next step: the scheduler, asked in virtual time as EngineGroup asks it
// in real time, and the channels that operations of a class share.
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
    virtual void before_turn(std::size_t member) = 0;  // say what has moved
    virtual void live_changed(std::size_t member) = 0;

   protected:
    ~User() = default;
  };

  struct Options {
    collectives::Window window;
    bool one_line = false;                              // gathers and reductions are one line, of class normal
    std::vector<collectives::Scheduler::Lead> leads{};  // of keys, by operation; empty: all of their classes
    int channels = 2;  // of a class: the k-th operation uses the k-th, and those on one go one after the other
  };
  using Live = collectives::Scheduler::Live;

  // What is referred to outlives it.
  Admission(EventQueue& events, const StepProgram& program, const Options& options, User& user, std::size_t member);

  void issue(std::size_t operation);
  // Others may go on, then.
  void finish(std::size_t operation);
  // True: as after finish().
  bool moved(std::size_t operation);
  // REQUIRES: issued and not finished.
  bool may_go_on(std::size_t operation) const;
  Priority priority(std::size_t operation) const;
  // The most operations and the most bytes that were live at once. Operations that the scheduler does not count are
  // left out.
  const Live& most_live() const { return most_live_; }

  void happen(std::uint32_t, std::size_t) override;

 private:
  using Channel = std::deque<std::size_t>;  // operations, the first goes

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
  bool asks_again_ = false;         // an event is planned
  bool turned_ = false;             // a line waits for its turn, perhaps
  Live most_live_;
};

// The larger number of operations of the two, and the larger number of bytes.
Admission::Live most_of(const Admission::Live& a, const Admission::Live& b);

}  // namespace railweave::perf::fsdp_replay
