// The trace of a process (docs/guide/trace.md): one buffer of records with times, for all threads.
//
// While the trace is off, a writer does one relaxed load (on()). Threads: any. Fork: the trace is off in the child.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "railweave/units.h"

namespace railweave::trace {

enum class Kind : std::uint8_t { operation = 1, segment_out = 2, segment_in = 3, wait = 4, step = 5, in_flight = 6 };

// One event. torch_ext/railweave/_records.py reads this layout from memory. Times: nanoseconds of CLOCK_MONOTONIC.
struct Record {
  std::int64_t begin, end;
  // operation, wait: the fingerprint; segment: the tag of its message, which is the fingerprint; step: the number
  std::uint64_t what;
  std::uint64_t bytes;  // payload; in_flight: the most at once since the last such record
  // operation: time when it was first live; segment: lane << 32 | sequence of the frame, the same at both ends;
  // in_flight: the most operations at once since the last such record
  std::uint64_t detail;
  std::uint32_t whose;    // operation, wait: the group's index in Taken::names; segment: the session, same at both ends
  std::uint16_t rail;     // segment: the rail's index in Taken::names
  std::uint8_t priority;  // operation, wait: the operation's Priority
  Kind kind;
};
static_assert(sizeof(Record) == 48);

// The content of a trace that has ended.
struct Taken {
  std::vector<Record> records;     // in no order
  std::vector<std::string> names;  // index: number_of(name)
  std::uint64_t dropped = 0;       // records that found no room
};

namespace detail {
extern std::atomic<bool> is_on;
}

inline bool on() { return detail::is_on.load(std::memory_order_relaxed); }
inline std::int64_t nanos_of(TimePoint t) { return t.time_since_epoch().count(); }

// Starts the trace with room for `capacity` records; their memory is touched as records come. False: the trace is on
// already, or the fork handlers could not be registered (pthread_atfork). Throws std::bad_alloc without memory.
bool start(std::size_t capacity);
// Stops the trace, returns its content and frees the memory. Waits for writers in add(). Empty, if the trace was off.
Taken stop();
// Adds a record. A record is ignored while the trace is off, or if it began before the trace did; in a full buffer it
// is counted as dropped.
void add(const Record& record);
// Counts records as dropped that found no room before they reached add().
void lost(std::uint64_t records);
// Returns the number of a name (of a rail, a group), for records. The number is the same for the process's life; beyond
// 65,536 names it is the last name's. Takes a mutex.
std::uint16_t number_of(std::string_view name);

}  // namespace railweave::trace
