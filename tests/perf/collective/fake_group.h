// Groups of threads of this process, without engines: enough of the operations to run a table, and to spoil one.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "collectives/group/group.h"

namespace railweave::perf::collective {

// What the ranks share. Calls return once all ranks have made them.
class FakeWorld {
 public:
  struct Part {
    const void* input = nullptr;
    void* output = nullptr;
  };
  explicit FakeWorld(int size) : parts_(std::size_t(size)) {}
  int size() const { return int(parts_.size()); }
  // The last rank to come does `act` for all.
  void meet(int rank, Part part, const std::function<void(const std::vector<Part>&)>& act);

  bool spoils = false;  // all-reduce: rank 1 gets one wrong element more each time
  int spoilt = 0;
  collectives::WorkPtr instead;  // what all_reduce returns; null: that it is done

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<Part> parts_;
  int here_ = 0;
  std::uint64_t round_ = 0;
};

collectives::WorkPtr work_over(Status status);
// Not over, whatever is waited; abort() ends it.
collectives::WorkPtr work_stuck();

// all_gather, all_reduce (sums of float32) and barrier; the others are refused.
std::unique_ptr<collectives::Group> fake_group(FakeWorld& world, int rank);

}  // namespace railweave::perf::collective
