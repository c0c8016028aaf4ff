// Which way large payload of another process comes faster, by what it cost so far: out of shared memory that its owner
// copied it to, or fetched out of the owner's (process_vm_readv). Neither is better everywhere: a fetch pays the kernel
// for every page, shared memory pays for two copies and for carrying fresh lines from one core to the other, and a
// virtual machine's cores move. Time comes in as an argument. Threads: one at a time.
#pragma once

#include <cstddef>

#include "railweave/units.h"

namespace railweave {

// A moving average of nanoseconds per byte.
class CopyCost {
 public:
  static constexpr std::size_t kSampleBytesMin = 8 * KiB;  // smaller pieces teach nothing

  void sample(std::size_t bytes, Nanos took);
  double ns_per_byte() const { return ns_per_byte_; }  // 0: not known
  // Bytes that came another way since the last sample; after many the next one counts for more.
  void pass(std::size_t bytes) { unmeasured_bytes_ += bytes; }
  bool stale() const;

 private:
  double ns_per_byte_ = 0;
  std::size_t unmeasured_bytes_ = 0;
  std::size_t patience_bytes_ = 4 * MiB;  // doubles: the first samples are of memory that nobody had touched
};

// The reader's.
class CopyChoice {
 public:
  // So many bytes, brought so, took the reader so long.
  void sample(bool fetched, std::size_t bytes, Nanos took);
  // What the writer says that its copies into shared memory cost it. 0: not known; as ours out of it, then.
  void on_writer_speed(double ns_per_byte) { writer_ns_per_byte_ = ns_per_byte; }
  // The cheaper way; now and then the other one, until it has been measured again.
  bool wants_fetch() const { return wants_fetch_; }

 private:
  double inline_ns_per_byte() const;

  CopyCost inline_, fetched_;
  double writer_ns_per_byte_ = 0;
  bool wants_fetch_ = false;
};

}  // namespace railweave
