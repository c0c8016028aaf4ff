// Bounds how many streams of an engine may have slots for eager messages before they are accepted: the memory that
// unauthenticated peers can make this process hold. Lifetime: outlives its shares. Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace railweave::engine {

class SlotBudget {
 public:
  explicit SlotBudget(std::size_t streams) : streams_(streams) {}

  struct GiveBack {
    void operator()(SlotBudget* budget) const { budget->taken_.fetch_sub(1, std::memory_order_relaxed); }
  };
  using Share = std::unique_ptr<SlotBudget, GiveBack>;
  // Takes one stream's share, held until it is destroyed. Null: all are taken.
  Share take() {
    if (taken_.fetch_add(1, std::memory_order_relaxed) < streams_) return Share(this);
    taken_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }

 private:
  const std::size_t streams_;
  std::atomic<std::size_t> taken_{0};
};

}  // namespace railweave::engine
