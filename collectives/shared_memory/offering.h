// Whether the pieces of a large all_gather are offered or copied: as the others say that they take them sooner, who
// measure both (base/copy_choice.h, docs/internals/shm_exchange.md).
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

  // Whether some other rank would rather read what this one has where it is.
  bool wanted() const;
  // This rank's copy of so many bytes into its slot took so long.
  void posted(std::size_t bytes, Nanos took);
  // So did its copy of what rank `from` posted, and its reading of what one offered.
  void copied(int from, std::size_t bytes, Nanos took);
  void read(std::size_t bytes, Nanos took);

 private:
  void announce();

  ShmExchange& exchange_;
  CopyCost put_;
  CopyChoice choice_;
  ShmExchange::Copying reported_;
};

}  // namespace railweave::collectives
