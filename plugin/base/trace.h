// What a process did and when, for docs/guide/trace.md: one buffer of records for all its threads.
//
// Off, a writer does one relaxed load (on()). Threads: any. In a forked child it is off.
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

// torch_ext/railweave/_records.py reads it as it lies in memory. Times: nanoseconds of CLOCK_MONOTONIC.
struct Record {
  std::int64_t begin, end;
  // operation, wait: its fingerprint; segment: its message's tag, which is the fingerprint; step: its number
  std::uint64_t what;
  std::uint64_t bytes;  // in_flight: the most at once since the last such record
  // operation: when it was first live; segment: lane << 32 | the frame's sequence, the same at both ends; in_flight:
  // the most operations at once
  std::uint64_t detail;
  std::uint32_t whose;    // operation, wait: its group, of names in Taken; segment: its session, the same at both ends
  std::uint16_t rail;     // segment: of names in Taken
  std::uint8_t priority;  // operation, wait: the operation's Priority
  Kind kind;
};
static_assert(sizeof(Record) == 48);

struct Taken {
  std::vector<Record> records;     // in no order
  std::vector<std::string> names;  // by number
  std::uint64_t dropped = 0;       // that found no room
};

namespace detail {
extern std::atomic<bool> is_on;
}

inline bool on() { return detail::is_on.load(std::memory_order_relaxed); }
inline std::int64_t nanos_of(TimePoint t) { return t.time_since_epoch().count(); }

// Takes memory for `capacity` records (touched as they come); throws bad_alloc where there is none. False: it is on
// already, or forked children could not be told (pthread_atfork).
bool start(std::size_t capacity);
// What was recorded; nothing is from now on, and the memory is free. Nothing, if it was off.
Taken stop();
// Dropped while it is off, or full, and if it began before the trace did: in an earlier one.
void add(const Record& record);
// Counted as dropped: records that found no room before they came here.
void lost(std::uint64_t records);
// The number of a name (of a rail, a group), for records; the same for the process's life. Takes a mutex. Beyond 65,535
// names: the last one's.
std::uint16_t number_of(std::string_view name);

}  // namespace railweave::trace
