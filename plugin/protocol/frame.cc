#include "protocol/frame.h"

#include <bit>
#include <cstring>
#include <string>

#include "base/crc32c.h"

namespace railweave::protocol {
namespace {

static_assert(kFrameHeaderBytes % sizeof(std::uint64_t) == 0);

static_assert(std::endian::native == std::endian::little, "fields are stored as they lie in memory");

template <class T>
void put(HeaderBytes out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <class T>
T get(ConstHeaderBytes in, std::size_t at) {
  T value;
  std::memcpy(&value, in.data() + at, sizeof value);
  return value;
}

Status malformed(const std::string& what) { return Status(Code::remote, Scope::lane, "malformed frame: " + what); }

Status check(const FrameHeader& h) {
  if (h.type < FrameType::segment || h.type > FrameType::window)
    return malformed("type " + std::to_string(int(h.type)) + ", expected 1..13");
  if ((h.flags & kFlagChecked) ? h.length == 0 : h.payload_crc != 0)
    return malformed(h.length == 0 ? "a CRC of no payload" : "a CRC of its payload, which is not said to be checked");
  if (h.type != FrameType::segment) {
    if (h.length > kControlPayloadBytesMax)
      return malformed(std::string(name_of(h.type)) + " with " + std::to_string(h.length) +
                       " bytes of payload, expected at most " + std::to_string(kControlPayloadBytesMax));
    if (h.type == FrameType::rails && h.aux >= kRailsMax)
      return malformed("RAILS with rail " + std::to_string(h.aux) + ", expected below " + std::to_string(kRailsMax));
    if (h.waiting != 0)
      return malformed(std::string(name_of(h.type)) + " with " + std::to_string(h.waiting) +
                       " in bytes 60 to 63, expected 0");
    if (h.type == FrameType::retire && h.b > 1)
      return malformed("RETIRE that says " + std::to_string(h.b) + ", expected 0 or 1");
    return {};
  }
  if (h.length > kSegmentBytesMax)
    return malformed("segment of " + std::to_string(h.length) + " bytes, expected at most " +
                     std::to_string(kSegmentBytesMax));
  if (h.b > kMessageBytesMax) return malformed("message of " + std::to_string(h.b) + " bytes, expected at most 2^40");
  if (h.a > h.b || h.length > h.b - h.a)
    return malformed("segment [" + std::to_string(h.a) + ", +" + std::to_string(h.length) +
                     ") outside its message of " + std::to_string(h.b) + " bytes");
  if (h.length == 0 && h.b != 0) return malformed("empty segment of a message of " + std::to_string(h.b) + " bytes");
  return {};
}

std::uint32_t crc_of(ConstHeaderBytes in) {
  std::array<std::uint64_t, kFrameHeaderBytes / 8> words;
  std::memcpy(words.data(), in.data(), kFrameHeaderBytes);
  words[0] &= 0xffff'ffff;  // the CRC's own field counts as zero
  return crc32c_of_line(words);
}

}  // namespace

void encode(const FrameHeader& h, HeaderBytes out) {
  put(out, 0, h.type);
  put(out, 1, h.flags);
  put(out, 2, h.aux);
  put(out, 8, h.stream);
  put(out, 12, h.length);
  put(out, 16, h.message);
  put(out, 24, h.a);
  put(out, 32, h.b);
  put(out, 40, h.consumed);
  put(out, 44, h.sequence);
  put(out, 48, h.tag);
  put(out, 56, h.payload_crc);
  put(out, 60, h.waiting);
  put(out, 4, crc_of(out));
}

Result<FrameHeader> decode(ConstHeaderBytes in) {
  const auto found = get<std::uint32_t>(in, 4);
  const std::uint32_t expected = crc_of(in);
  if (found != expected)
    return malformed("header CRC " + std::to_string(found) + ", expected " + std::to_string(expected));
  FrameHeader h;
  h.type = get<FrameType>(in, 0);
  h.flags = get<std::uint8_t>(in, 1);
  h.aux = get<std::uint16_t>(in, 2);
  h.stream = get<std::uint32_t>(in, 8);
  h.length = get<std::uint32_t>(in, 12);
  h.message = get<std::uint64_t>(in, 16);
  h.a = get<std::uint64_t>(in, 24);
  h.b = get<std::uint64_t>(in, 32);
  h.consumed = get<std::uint32_t>(in, 40);
  h.sequence = get<std::uint32_t>(in, 44);
  h.tag = get<std::uint64_t>(in, 48);
  h.payload_crc = get<std::uint32_t>(in, 56);
  h.waiting = get<std::uint32_t>(in, 60);
  if (Status s = check(h); !s.ok()) return s;
  return h;
}

bool arrived_whole(ConstHeaderBytes in) { return get<std::uint32_t>(in, 4) == crc_of(in); }

std::optional<std::uint32_t> payload_crc_in(ConstHeaderBytes in) {
  if ((get<std::uint8_t>(in, 1) & kFlagChecked) == 0) return {};
  return get<std::uint32_t>(in, 56);
}

std::uint64_t ack_in(const FrameHeader& h) {
  if (h.type == FrameType::ack) return h.message;
  return h.message - std::uint16_t(std::uint16_t(h.message) - h.aux);
}

const char* name_of(FrameType type) {
  switch (type) {
    case FrameType::segment: return "SEGMENT";
    case FrameType::grant: return "GRANT";
    case FrameType::ack: return "ACK";
    case FrameType::open: return "OPEN";
    case FrameType::opened: return "OPENED";
    case FrameType::close: return "CLOSE";
    case FrameType::abort: return "ABORT";
    case FrameType::fence: return "FENCE";
    case FrameType::goodbye: return "GOODBYE";
    case FrameType::keep: return "KEEP";
    case FrameType::rails: return "RAILS";
    case FrameType::retire: return "RETIRE";
    case FrameType::window: return "WINDOW";
  }
  return "?";
}

}  // namespace railweave::protocol
