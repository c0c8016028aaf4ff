#include "base/birthplace.h"

#include <pthread.h>

#include <atomic>

namespace railweave {
namespace {

std::atomic<std::uint32_t> generation{0};  // grows by one in each forked child

std::uint32_t counted_generation() {
  static const int counted = pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  (void)counted;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace

Birthplace::Birthplace() : generation_(counted_generation()) {}

bool Birthplace::left() const { return generation.load(std::memory_order_relaxed) != generation_; }

}  // namespace railweave
