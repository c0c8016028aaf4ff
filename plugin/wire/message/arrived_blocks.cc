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
  const std::size_t to_end = blocks_.size() - next_;
  Place& place = blocks_[ahead < to_end ? next_ + ahead : ahead - to_end];
  if (place.taken)
    return Status(Code::remote, Scope::lane,
                  fmt::format("malformed block: number {} arrived twice", block.prefix.number));
  place = {true, block};
  return {};
}

const ArrivedBlocks::Block* ArrivedBlocks::next() const {
  const Place& place = blocks_[next_];
  return place.taken ? &place.block : nullptr;
}

void ArrivedBlocks::pop() {
  assert(next());
  blocks_[next_].taken = false;
  if (++next_ == blocks_.size()) next_ = 0;
  ++popped_;
}

}  // namespace railweave::wire::message
