#include "counted_calls.h"

#include <dlfcn.h>
#include <pthread.h>

namespace railweave::engine_test {
namespace {

thread_local bool counts = false;
thread_local std::uint64_t allocations_seen = 0, locks_seen = 0;

int lock_by(const char* name, pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  if (counts) ++locks_seen;
  return reinterpret_cast<Lock>(::dlsym(RTLD_NEXT, name))(mutex);
}

}  // namespace

CountedCalls::CountedCalls() {
  allocations_seen = locks_seen = 0;
  counts = true;
}

CountedCalls::~CountedCalls() { counts = false; }

std::uint64_t CountedCalls::allocations() const { return allocations_seen; }
std::uint64_t CountedCalls::locks() const { return locks_seen; }

void count_allocation() {
  if (counts) ++allocations_seen;
}

}  // namespace railweave::engine_test

// These functions of the executable replace the C library's, also for calls from the C++ library.
extern "C" __attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return railweave::engine_test::lock_by("pthread_mutex_lock", mutex);
}
extern "C" __attribute__((visibility("default"))) int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return railweave::engine_test::lock_by("pthread_mutex_trylock", mutex);
}
