#include "base/trace.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/mutex.h"

namespace railweave::trace {
namespace detail {
std::atomic<bool> is_on{false};
}

namespace {

constexpr std::size_t kNamesMost = 65'536;

std::atomic<int> writers{0};  // threads within add()
std::atomic<std::uint64_t> places_taken{0};
std::atomic<std::uint64_t> lost_records{0};
Mutex ends_mutex;  // held within start() and stop()
// The next three change only under ends_mutex, while the trace is off and no thread is within add().
std::unique_ptr<Record[]> places;
std::size_t place_count = 0;
std::int64_t began = 0;

Mutex names_mutex;
std::vector<std::string> names RW_GUARDED_BY(names_mutex);

// Runs in the forked child, which has one thread: threads that were within add() do not exist there.
void begin_child() RW_RELEASE(ends_mutex, names_mutex) {
  detail::is_on.store(false);
  writers.store(0);
  names_mutex.unlock();
  ends_mutex.unlock();
}

void lock_before_fork() RW_ACQUIRE(ends_mutex, names_mutex) {
  ends_mutex.lock();
  names_mutex.lock();
}

void unlock_in_parent() RW_RELEASE(ends_mutex, names_mutex) {
  names_mutex.unlock();
  ends_mutex.unlock();
}

}  // namespace

bool start(std::size_t capacity) {
  static const int handlers = ::pthread_atfork(&lock_before_fork, &unlock_in_parent, &begin_child);
  if (handlers != 0) return false;
  const MutexLock lock(ends_mutex);
  if (on()) return false;
  places = std::make_unique_for_overwrite<Record[]>(capacity);
  place_count = capacity;
  began = nanos_of(now());
  places_taken.store(0, std::memory_order_relaxed);
  lost_records.store(0, std::memory_order_relaxed);
  detail::is_on.store(true, std::memory_order_seq_cst);
  return true;
}

// Either add() sees that the trace is off, or stop() sees the writer: each writes its own atomic before it reads the
// other's, sequentially consistent.
void add(const Record& record) {
  if (!on()) return;
  writers.fetch_add(1, std::memory_order_seq_cst);
  if (detail::is_on.load(std::memory_order_seq_cst) && record.begin >= began) {
    const std::uint64_t place = places_taken.fetch_add(1, std::memory_order_relaxed);
    if (place < place_count) places[place] = record;
  }
  writers.fetch_sub(1, std::memory_order_release);
}

void lost(std::uint64_t records) {
  if (on()) lost_records.fetch_add(records, std::memory_order_relaxed);
}

Taken stop() {
  Taken taken;
  const MutexLock lock(ends_mutex);
  if (!detail::is_on.exchange(false, std::memory_order_seq_cst)) return taken;
  while (writers.load(std::memory_order_seq_cst) > 0) ::sched_yield();
  const std::uint64_t wanted = places_taken.load(std::memory_order_relaxed);
  const std::size_t kept = std::size_t(std::min<std::uint64_t>(wanted, place_count));
  taken.records.assign(places.get(), places.get() + kept);
  taken.dropped = wanted - kept + lost_records.load(std::memory_order_relaxed);
  places.reset();
  place_count = 0;
  const MutexLock names_lock(names_mutex);
  taken.names = names;
  return taken;
}

std::uint16_t number_of(std::string_view name) {
  const MutexLock lock(names_mutex);
  const auto found = std::ranges::find(names, name);
  const auto number = std::size_t(found - names.begin());
  if (found == names.end() && number < kNamesMost) names.emplace_back(name);
  return std::uint16_t(std::min(number, kNamesMost - 1));
}

}  // namespace railweave::trace
