#include "engine/runtime/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace railweave::engine {
namespace {

constexpr int kDescriptors = 65536;
std::atomic<std::uint64_t> guarded[kDescriptors / 64];

void close_all_in_child() {
  for (int word = 0; word < kDescriptors / 64; ++word) {
    std::uint64_t bits = guarded[word].exchange(0, std::memory_order_relaxed);
    for (; bits != 0; bits &= bits - 1) close(word * 64 + __builtin_ctzll(bits));
  }
}

std::once_flag installed;

}  // namespace

void guard_descriptor(int fd) {
  std::call_once(installed, [] { pthread_atfork(nullptr, nullptr, close_all_in_child); });
  if (fd >= 0 && fd < kDescriptors) guarded[fd / 64].fetch_or(std::uint64_t{1} << (fd % 64), std::memory_order_relaxed);
}

void release_descriptor(int fd) {
  if (fd >= 0 && fd < kDescriptors)
    guarded[fd / 64].fetch_and(~(std::uint64_t{1} << (fd % 64)), std::memory_order_relaxed);
}

Status dead_after_fork() {
  return Status(Code::internal, Scope::engine,
                "this process was forked: the engine it was forked with lives in the parent only");
}

}  // namespace railweave::engine
