// Fuzzes decode() of frame headers: it refuses the bytes, or returns a header that encode() writes as the same bytes.
#include "protocol/frame_fields.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/crc32c.h"
#include "tests/fuzz/check.h"

using railweave::fuzz::check;
using namespace railweave::protocol;

// The first byte's lowest bit: replace the CRC by the right one.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  std::array<std::byte, kFrameHeaderBytes> bytes{};
  std::memcpy(bytes.data(), data + 1, std::min(size - 1, bytes.size()));
  if (data[0] & 1) {
    std::memset(bytes.data() + 4, 0, 4);
    const std::uint32_t crc = railweave::crc32c(bytes);
    std::memcpy(bytes.data() + 4, &crc, 4);
  }
  railweave::Result<FrameHeader> header = decode(bytes);
  if (!header.ok()) {
    check(header.status().scope() == railweave::Scope::lane, "a bad header costs its lane, no more");
    check(header.status().message().starts_with("malformed frame: "), "the engine knows bad headers by these words");
    return 0;
  }
  check(header->length <= (header->type == FrameType::segment ? kSegmentBytesMax : kControlPayloadBytesMax),
        "length is bounded");
  if (header->type == FrameType::segment) {
    const auto segment = SegmentFrame::of(*header);
    check(segment.offset <= segment.size && segment.length <= segment.size - segment.offset,
          "a segment lies inside its message");
  }
  std::array<std::byte, kFrameHeaderBytes> again;
  encode(*header, again);
  check(again == bytes, "a header that was taken is written the same");
  check(arrived_whole(bytes), "a header that was taken arrived whole");
  check(payload_crc_in(bytes).value_or(0) == header->payload_crc, "both ways to read the payload's CRC agree");
  check(std::strcmp(name_of(header->type), "?") != 0, "a type that was taken has a name");
  (void)ack_in(*header);
  return 0;
}
