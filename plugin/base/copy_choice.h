// Chooses the cheaper way to read large payload of another process, by measured cost. Inline: the writer copies the
// payload into shared memory, and the reader copies it out. Fetched: the reader copies it out of the writer's memory
// (process_vm_readv). Neither is better everywhere. A fetch costs kernel time for every page. Inline costs two copies,
// and cache lines move between cores. A virtual machine's cores move, too. Callers measure the time. Threads: one at a
// time.
#pragma once

#include <cstddef>

#include "railweave/units.h"

namespace railweave {

// The cost of one way to copy: a moving average of nanoseconds per byte.
class CopyCost {
 public:
  static constexpr std::size_t kSampleBytesMin = 8 * KiB;  // smaller copies are not sampled

  void sample(std::size_t bytes, Nanos took);
  double ns_per_byte() const { return ns_per_byte_; }  // 0: not known
  // Counts bytes that were copied the other way since the last sample.
  void pass(std::size_t bytes) { unmeasured_bytes_ += bytes; }
  // True without a sample, or if many bytes were passed since the last one. The next sample then weighs more.
  bool stale() const;

 private:
  double ns_per_byte_ = 0;
  std::size_t unmeasured_bytes_ = 0;
  // passed bytes until stale(); doubles with each stale sample, because the first samples are of untouched memory
  std::size_t patience_bytes_ = 4 * MiB;
};

// The reader's choice between the two ways.
class CopyChoice {
 public:
  // Records that the reader's copy of `bytes`, fetched or inline, took the time `took`.
  void sample(bool fetched, std::size_t bytes, Nanos took);
  // Sets the cost of the writer's copies into shared memory, as the writer measured it. 0: not known; then the cost of
  // the reader's inline copies counts instead.
  void set_writer_cost(double ns_per_byte) { writer_ns_per_byte_ = ns_per_byte; }
  // True: fetching is the better way. While the other way's cost is stale, the answer is the other way.
  bool wants_fetch() const { return wants_fetch_; }

 private:
  double inline_ns_per_byte() const;

  CopyCost inline_, fetched_;
  double writer_ns_per_byte_ = 0;
  bool wants_fetch_ = false;
};

}  // namespace railweave
