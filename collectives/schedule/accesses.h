// Which bytes which steps read and wrote so far, and so which of them the next step must wait for. Steps are told in an
// order in which they would be right if each ran to its end before the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/schedule/memory.h"

namespace railweave::collectives {

class Accesses {
 public:
  // Adds to `after` the steps that must be done before `step` may read or write these bytes. All reads of a step come
  // first.
  void read(const Extent& extent, std::uint32_t step, std::vector<std::uint32_t>& after);
  void write(const Extent& extent, std::uint32_t step, std::vector<std::uint32_t>& after);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Run {  // bytes with one history
    std::size_t begin, end;
    std::uint32_t writer;   // the last
    std::uint32_t readers;  // since then: index of the newest in readers_
  };
  struct Reader {
    std::uint32_t step, older;
  };
  using Runs = std::vector<Run>;  // in order, disjoint; what is missing was never touched

  // Index of the first run of [begin, end), which runs cover exactly afterwards.
  static std::size_t cover(Runs& runs, std::size_t begin, std::size_t end);

  std::array<Runs, 3> runs_;  // by place
  std::vector<Reader> readers_;
};

}  // namespace railweave::collectives
