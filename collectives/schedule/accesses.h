// Records which steps read and wrote which bytes, and finds the steps for which the next step must wait. The caller
// passes steps in an order that would be right if each step ended before the next one began.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/schedule/memory.h"

namespace railweave::collectives {

class Accesses {
 public:
  // Adds to `after` the steps that must be done before `step` may access these bytes. All reads of a step come before
  // its write.
  void read(const Extent& extent, std::uint32_t step, std::vector<std::uint32_t>& after);
  void write(const Extent& extent, std::uint32_t step, std::vector<std::uint32_t>& after);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Run {  // bytes [begin, end) with one history
    std::size_t begin, end;
    std::uint32_t writer;   // last step that wrote; kNone: none
    std::uint32_t readers;  // steps that read since then: index of the newest in readers_; kNone: none
  };
  struct Reader {
    std::uint32_t step, older;  // older: index in readers_
  };
  using Runs = std::vector<Run>;  // in order, disjoint; gaps were never accessed

  // Splits and adds runs so that they cover [begin, end) exactly. Returns the index of the first of them.
  static std::size_t cover(Runs& runs, std::size_t begin, std::size_t end);

  std::array<Runs, 3> runs_;  // by place
  std::vector<Reader> readers_;
};

}  // namespace railweave::collectives
