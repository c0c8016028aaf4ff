// Whether the pieces of a large all_gather are offered or copied: as the others say that they take them sooner, who measure
// both (base/copy_choice.h, docs/board.md).
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/copy_choice.h"
#include "collectives/shared_memory/board.h"
#include "railweave/units.h"

namespace railweave::collectives {

class Offering {
 public:
  explicit Offering(Board& board) : board_(board) {}

  // Whether some other rank would rather read what this one has where it is.
  bool wanted() const;
  // This rank's copy of so many bytes into its slot took so long.
  void posted(std::size_t bytes, Nanos took);
  // So did its copy of what rank `from` posted, and its reading of what one offered.
  void copied(int from, std::size_t bytes, Nanos took);
  void read(std::size_t bytes, Nanos took);

 private:
  void tell();

  Board& board_;
  CopyCost put_;
  CopyChoice choice_;
  Board::Copying told_;
};

}  // namespace railweave::collectives
