// What a dump says of one group: which operations its rank has called, and whom they wait for. A backend makes one; the
// process's list of them (dumps.h) does not keep it alive.
// Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "collectives/group/group.h"
#include "torch_ext/csrc/in_flight.h"
#include "torch_ext/csrc/operation_record.h"

namespace railweave::torch_ext {

struct GroupIdentity {
  std::string name;
  std::vector<std::uint64_t> ranks;  // global, by rank of the group
  int rank = 0;                      // of this process, in the group
  TimePoint created{};               // CLOCK_MONOTONIC
};

struct OperationState {
  enum class Phase { scheduled, started, completed };

  OperationRecord record;
  Phase phase = Phase::completed;  // completed only after success
  bool retired = false;            // over
  // --- unless retired
  std::uint64_t waiter = 0;  // the thread that waits for the operation, by pthread_self(); 0: none
  std::vector<int> awaited;  // ranks of the group
  std::size_t part = 0;      // the oldest unfinished part ...
  std::string call;          // ... and its UnfinishedCall::call; empty: no part has reached the group, or a message
  std::uint64_t counts = 0;  // its UnfinishedCall::counts
};

struct GroupState {
  GroupIdentity identity;
  std::string description;  // torch's group_desc
  Code error = Code::ok;    // of what ended the group
  std::string error_text;
  std::vector<OperationState> operations;  // those that are over first
};

class GroupProgress {
 public:
  // `unfinished`: the group's operations; lives as long as this object.
  GroupProgress(GroupIdentity identity, std::shared_ptr<const InFlight> unfinished,
                const std::shared_ptr<collectives::Group>& group)
      : identity_(std::move(identity)), in_flight_(std::move(unfinished)), group_(group) {}

  void describe(const std::string& description);
  // Notes why the group ends; the first reason counts. Without memory the reason has no text.
  void fail(Code code, const std::string& why) noexcept;
  // Takes the runner's lock.
  GroupState state() const;

 private:
  const GroupIdentity identity_;
  const std::shared_ptr<const InFlight> in_flight_;
  const std::weak_ptr<collectives::Group> group_;
  mutable Mutex mutex_;
  std::string description_ RW_GUARDED_BY(mutex_);
  Code error_ RW_GUARDED_BY(mutex_) = Code::ok;
  std::string error_text_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave::torch_ext
