// The check of the frame that arrives: whether its payload is what its header says (RAILWEAVE_CHECKSUM at the sender),
// and where it lies until that is known. A reader of memory that is being filled must not see a wrong byte: its payload
// comes into memory of ours first.
//
// Threads: holder of the lane's claim. Reads and writes the session's memory between expect() and arrived() only, and
// none of what was withdrawn. Allocates once, kSegmentBytesMax bytes for the first payload that somebody watches; may
// throw then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "wire/wire.h"

namespace railweave::engine {

class PayloadCheck {
 public:
  enum class Verdict {
    none,     // nothing was said of it, or it was thrown away
    intact,   // and in its place
    damaged,  // found() says what it has instead; a read_while_landing place has none of it
  };

  // A payload begins that is to have `crc`, if anything was said. Returns where the lane is to put it.
  wire::Target expect(std::optional<std::uint32_t> crc, const wire::Target& target) {
    place_ = {};
    return crc && target.where.data() != nullptr ? place_for(*crc, target) : target;
  }
  // It is all there.
  Verdict arrived() { return place_.empty() ? Verdict::none : verdict(); }
  std::uint32_t found() const { return found_; }
  // `range` is not touched any more. A payload whose place overlaps it is thrown away.
  void withdraw(std::span<const std::byte> range);
  void forget() { place_ = {}; }

 private:
  wire::Target place_for(std::uint32_t crc, const wire::Target& target);
  Verdict verdict();

  std::span<std::byte> place_;  // of the payload; empty: nothing to check
  std::uint32_t expected_ = 0, found_ = 0;
  bool apart_ = false;  // it arrives in apart_bytes_
  std::unique_ptr<std::byte[]> apart_bytes_;
};

}  // namespace railweave::engine
