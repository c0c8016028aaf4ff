// Checks the payload of the arriving frame against the CRC in its header (RAILWEAVE_CHECKSUM at the sender). A caller
// that reads memory while it fills must never see a wrong byte: such a payload first arrives in memory of this object.
//
// Threads: holder of the lane's claim.
// Memory: touches the session's memory between expect() and arrived() only, and no memory that was withdrawn. Allocates
// kSegmentBytesMax bytes (256 KiB) once, for the first payload that is read while landing.
// Errors: std::bad_alloc from expect(), for that allocation.
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
    none,     // the payload has no CRC, or was thrown away
    intact,   // the CRC is right, and the payload is in its place
    damaged,  // found() returns its CRC; memory that is read while landing has none of its bytes
  };

  // A payload begins. `crc`: as its header has it; none: no check. Returns where the lane puts the payload.
  wire::Target expect(std::optional<std::uint32_t> crc, const wire::Target& target) {
    place_ = {};
    return crc && target.where.data() != nullptr ? place_for(*crc, target) : target;
  }
  // The payload is wholly there.
  Verdict arrived() { return place_.empty() ? Verdict::none : verdict(); }
  std::uint32_t found() const { return found_; }  // CRC of the payload that was checked last
  // `range` is not touched any more. A payload whose place overlaps `range` is thrown away.
  void withdraw(std::span<const std::byte> range);
  void forget() { place_ = {}; }

 private:
  wire::Target place_for(std::uint32_t crc, const wire::Target& target);
  Verdict verdict();

  std::span<std::byte> place_;  // where the payload belongs; empty: nothing to check
  std::uint32_t expected_ = 0, found_ = 0;
  bool apart_ = false;  // the payload arrives in apart_bytes_
  std::unique_ptr<std::byte[]> apart_bytes_;
};

}  // namespace railweave::engine
