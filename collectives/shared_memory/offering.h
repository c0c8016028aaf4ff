// Decides whether the pieces of a large all_gather are offered or copied. The readers measure both ways and announce
// which one is faster (base/copy_choice.h, docs/internals/shm_exchange.md).
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/copy_choice.h"
#include "collectives/shared_memory/shm_exchange.h"
#include "railweave/units.h"

namespace railweave::collectives {

class Offering {
 public:
  explicit Offering(ShmExchange& exchange) : exchange_(exchange) {}

  // Returns true if some other rank prefers to read this rank's data where it lies.
  bool wanted() const;
  // Samples this rank's copy of `bytes` into its slot.
  void posted(std::size_t bytes, Nanos took);
  // Samples this rank's copy of what rank `from` posted, and its reading of what a rank offered. Both announce changes.
  void copied(int from, std::size_t bytes, Nanos took);
  void read(std::size_t bytes, Nanos took);

 private:
  void publish();

  ShmExchange& exchange_;
  CopyCost put_;
  CopyChoice choice_;
  ShmExchange::Copying published_;
};

}  // namespace railweave::collectives
