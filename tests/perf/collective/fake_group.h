// A fake group without an engine, whose ranks are threads of this process. The group has the operations that a table
// needs, and can spoil results.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "collectives/group/group.h"

namespace railweave::perf::collective {

// The state that the ranks share. Calls return once all ranks have made them.
class FakeWorld {
 public:
  struct Part {
    const void* input = nullptr;
    void* output = nullptr;
  };
  explicit FakeWorld(int size) : parts_(std::size_t(size)) {}
  int size() const { return int(parts_.size()); }
  // Waits for all ranks. The last one calls `act` with the parts of all.
  void meet(int rank, Part part, const std::function<void(const std::vector<Part>&)>& act);

  bool spoils = false;  // each all-reduce gives rank 1 one more wrong element
  int spoilt = 0;
  collectives::WorkPtr instead;  // returned by all_reduce; null: a Work that is done

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<Part> parts_;
  int here_ = 0;
  std::uint64_t round_ = 0;
};

collectives::WorkPtr work_over(Status status);
// A Work that is never over until abort() ends it.
collectives::WorkPtr work_stuck();

// Has all_gather, all_reduce (sums of float32) and barrier. Refuses other operations.
std::unique_ptr<collectives::Group> fake_group(FakeWorld& world, int rank);

}  // namespace railweave::perf::collective
