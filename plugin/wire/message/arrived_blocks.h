// The blocks that arrived and are not read yet, in the order of their numbers, whatever the order in which they
// arrived. Pure. Threads: the lane's.
#pragma once

#include <cstdint>
#include <vector>

#include "railweave/status.h"
#include "wire/message/block.h"
#include "wire/message/channel.h"

namespace railweave::wire::message {

class ArrivedBlocks {
 public:
  struct Block {
    std::uint32_t slot = 0;
    Prefix prefix;
  };

  // `slots`: receive slots of this end; as many blocks may be here at once.
  explicit ArrivedBlocks(std::uint32_t slots) : blocks_(slots) {}

  // Errors: Code::remote if the peer cannot have sent this number now.
  Status add(const Block& block);
  // Returns the next block in order; null: that block has not arrived. pop() removes it.
  const Block* next() const;
  void pop();
  std::uint64_t popped() const { return popped_; }

 private:
  struct Place {
    bool taken = false;
    Block block;
  };

  std::vector<Place> blocks_;  // a ring; the next block is at next_
  std::size_t next_ = 0;
  std::uint64_t popped_ = 0;  // also the number of the next block
};

}  // namespace railweave::wire::message
