// Memory for the intermediate data of operations, kept between operations so that pages are touched once only.
// Threads: under the runner's lock.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace railweave::collectives {

class Scratch {
 public:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  struct Block {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t bytes = 0;
  };

  // Returns a block of at least `bytes`, aligned to 128 bytes, owned by the caller. Null memory: `bytes` is 0, or no
  // memory is available.
  Block take(std::size_t bytes);
  // Keeps the block for later, or frees the smallest block of those kept.
  void give_back(Block block);

 private:
  static constexpr std::size_t kKeptMax = 4;  // blocks
  std::vector<Block> kept_;
};

}  // namespace railweave::collectives
