#include "collectives/exec/scratch.h"

#include <algorithm>

namespace railweave::collectives {

Scratch::Block Scratch::take(std::size_t bytes) {
  if (bytes == 0) return {};
  // The smallest block of `bytes` to about eight times as many: a larger block is left for larger operations.
  auto best = kept_.end();
  for (auto b = kept_.begin(); b != kept_.end(); ++b)
    if (b->bytes >= bytes && b->bytes / 8 <= bytes && (best == kept_.end() || b->bytes < best->bytes)) best = b;
  if (best != kept_.end()) {
    Block block = std::move(*best);
    kept_.erase(best);
    return block;
  }
  constexpr std::size_t kPage = 4096;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  return {std::unique_ptr<std::byte, Free>(static_cast<std::byte*>(std::aligned_alloc(kPage, bytes))), bytes};
}

void Scratch::give_back(Block block) {
  if (!block.memory) return;
  kept_.push_back(std::move(block));
  if (kept_.size() > kKeptMax) kept_.erase(std::ranges::min_element(kept_, {}, &Block::bytes));
}

}  // namespace railweave::collectives
