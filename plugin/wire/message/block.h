// The prefix of a block: 16 bytes, little endian. Behind it comes a part of the lane's byte stream: frames, one after
// another. docs/internals/message_wires.md has the bytes and an example. Plain values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "railweave/status.h"

namespace railweave::wire::message {

inline constexpr std::size_t kPrefixBytes = 16;

struct Prefix {
  std::uint32_t number = 0;    // of the block, in its direction, from 0, modulo 2^32
  std::uint32_t returned = 0;  // blocks whose slots the sender of this block has given back, modulo 2^32
  std::uint32_t bytes = 0;     // of the stream, behind the prefix
  bool probe = false;          // the first block: no stream, only padding
  bool last = false;           // no stream follows in this direction
  bool asks = false;           // the receiver of this block sends a block as soon as it has given this one back

  friend bool operator==(const Prefix&, const Prefix&) = default;
};

void encode(const Prefix& prefix, std::span<std::byte, kPrefixBytes> to);
// `block`: all bytes that arrived. Errors: Code::remote, naming the defect: a block too short for the prefix, or for
// the bytes that the prefix names; unknown flags.
Result<Prefix> decode(std::span<const std::byte> block);

}  // namespace railweave::wire::message
