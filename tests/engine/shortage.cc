#include "shortage.h"

#include "counted_calls.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace railweave::engine_test {
namespace {

std::atomic<bool> active{false};
std::atomic<Shortage::Where> where{Shortage::here};
std::atomic<int> left{0}, to_fail{0}, failed{0};
thread_local bool test_thread = false;

bool fails() {
  if (!active.load(std::memory_order_relaxed) || (where == Shortage::here) != test_thread) return false;
  if (left.fetch_sub(1) > 0 || to_fail.fetch_sub(1) <= 0) return false;
  ++failed;
  return true;
}

}  // namespace

Shortage::Shortage(Where at, int good, int bad) {
  test_thread = true;
  left = good;
  to_fail = bad;
  failed = 0;
  where = at;
  active = true;
}

Shortage::~Shortage() { active = false; }

bool Shortage::felt() const { return failed > 0; }

}  // namespace railweave::engine_test

void* operator new(std::size_t bytes) {
  railweave::engine_test::count_allocation();
  void* const memory = railweave::engine_test::fails() ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
