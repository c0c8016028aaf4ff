#include "wire/message/arrived_blocks.h"

#include <fmt/format.h>

#include <cassert>

namespace railweave::wire::message {

Status ArrivedBlocks::add(const Block& block) {
  const std::uint32_t ahead = block.prefix.number - std::uint32_t(popped_);
  if (ahead >= blocks_.size())
    return Status(Code::remote, Scope::lane,
                  fmt::format("malformed block: number {}, expected {} or one of the {} after it", block.prefix.number,
                              std::uint32_t(popped_), blocks_.size() - 1));
  Place& place = blocks_[(popped_ + ahead) % blocks_.size()];
  if (place.taken)
    return Status(Code::remote, Scope::lane,
                  fmt::format("malformed block: number {} arrived twice", block.prefix.number));
  place = {true, block};
  return {};
}

const ArrivedBlocks::Block* ArrivedBlocks::next() const {
  const Place& place = blocks_[popped_ % blocks_.size()];
  return place.taken ? &place.block : nullptr;
}

void ArrivedBlocks::pop() {
  assert(next());
  blocks_[popped_ % blocks_.size()].taken = false;
  ++popped_;
}

}  // namespace railweave::wire::message
