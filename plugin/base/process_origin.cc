#include "base/process_origin.h"

#include <pthread.h>

#include <atomic>

namespace railweave {
namespace {

std::atomic<std::uint32_t> generation{0};  // grows by one in each forked child

std::uint32_t counted_generation() {
  static const int counted =
      pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  (void)counted;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace

ProcessOrigin::ProcessOrigin() : generation_(counted_generation()) {}

bool ProcessOrigin::in_child() const { return generation.load(std::memory_order_relaxed) != generation_; }

}  // namespace railweave
