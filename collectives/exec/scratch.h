// Memory for operations' intermediate data, kept between operations so that its pages are touched once.
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

  // At least `bytes`, aligned to 128. Empty memory: there is none to be had, or none was asked for.
  Block take(std::size_t bytes);
  void give_back(Block block);

 private:
  static constexpr std::size_t kKeptMax = 4;
  std::vector<Block> kept_;
};

}  // namespace railweave::collectives
