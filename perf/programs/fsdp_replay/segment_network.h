// A network of all members. Each has a scheduler and a link, which sends segment after segment.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "fsdp_replay/network.h"

namespace railweave::perf::fsdp_replay {

class SegmentNetwork final : public Network, public Admission::User, public EventHandler {
 public:
  // `events`, `program` and `user` must outlive the object.
  SegmentNetwork(EventQueue& events, const StepProgram& program, const Ring& ring, const Admission::Options& admission,
                 std::size_t segment_bytes, Network::User& user);

  void issue(std::size_t member, std::size_t operation) override;
  Admission::Live live_most() const override;

  void before_turn(std::size_t) override {}
  void live_changed(std::size_t member) override;
  void happen(std::uint32_t what, std::size_t which) override;

 private:
  enum What : std::uint32_t { kSent, kArrived, kEnded };

  struct Progress {
    bool issued = false, sending = false;
    int begun = 0, sent = 0, arrived = 0;  // steps
  };
  struct Message {
    std::size_t operation = 0, bytes = 0;  // bytes: still to be sent
  };
  struct Member {
    std::unique_ptr<Admission> admission;
    std::vector<Progress> operations;
    std::vector<std::size_t> unfinished;        // operations issued
    std::deque<Message> messages[kPriorities];  // one per operation; the first is being sent
    int sending_class = -1;                     // priority of the segment on the wire; -1: none
    std::size_t sending_bytes = 0;
  };

  std::size_t next(std::size_t member) const { return (member + 1) % members_.size(); }
  std::size_t before(std::size_t member) const { return (member + members_.size() - 1) % members_.size(); }
  void begin_step(std::size_t member, std::size_t operation);
  void begin_steps(std::size_t member);
  void send(std::size_t member);
  void sent(std::size_t member);
  void arrived(std::size_t member, std::size_t operation);
  void moved(std::size_t member, std::size_t operation);
  void end_if_over(std::size_t member, std::size_t operation);

  EventQueue& events_;
  const StepProgram& program_;
  const Ring ring_;
  const std::size_t segment_bytes_;
  Network::User& user_;
  std::vector<Member> members_;
};

}  // namespace railweave::perf::fsdp_replay
