// One member that represents all. Its operations progress at rates that change only when the set of live operations
// does.
#pragma once

#include <vector>

#include "fsdp_replay/network.h"

namespace railweave::perf::fsdp_replay {

class FluidNetwork final : public Network, public Admission::User, public EventHandler {
 public:
  // `events`, `program` and `user` must outlive the object.
  FluidNetwork(EventQueue& events, const StepProgram& program, const Ring& ring, const Admission::Options& admission,
               Network::User& user);

  void issue(std::size_t member, std::size_t operation) override;
  Admission::Live live_most() const override { return admission_.most_live(); }

  void before_turn(std::size_t member) override;
  void live_changed(std::size_t member) override;
  void happen(std::uint32_t what, std::size_t which) override;

 private:
  enum What : std::uint32_t { kChanges, kEnded };

  struct Flow {
    std::size_t operation = 0;
    double bytes = 0;  // still to be moved
    double bytes_per_s = 0;
  };

  // Use of the link by operations that are served earlier.
  struct Ahead {
    double busy = 0;     // share of the time in which these operations use the link
    double cycle_s = 0;  // of the slowest: from the beginning of one step to the next; 0: no such operation
  };

  double step_bytes(std::size_t operation) const;
  void progress();
  void share();
  void share_of_priority(Priority priority, Ahead& ahead);

  EventQueue& events_;
  const StepProgram& program_;
  const Ring ring_;
  Network::User& user_;
  Admission admission_;
  std::vector<Flow> flows_;  // issued and not over
  TimePoint progressed_{};
  std::size_t plan_ = 0;  // number of the only valid kChanges event
};

}  // namespace railweave::perf::fsdp_replay
