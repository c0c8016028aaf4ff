#include "wire/verbs/channel_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"

namespace railweave::wire::verbs {
namespace {

constexpr std::uint8_t kVersion = 1;

Status malformed_address(const std::string& what) {
  return Status(Code::remote, Scope::lane, "malformed address of an RDMA queue pair: " + what);
}

Status check_field(const char* name, std::uint64_t found, std::uint64_t least, std::uint64_t most) {
  if (found >= least && found <= most) return {};
  return malformed_address(fmt::format("{} {}, expected {} to {}", name, found, least, most));
}

// Writes and reads the fields one behind the other.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(std::byte(value >> (8 * i)));
  }

 private:
  std::vector<std::byte>& bytes_;
};

class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(bytes);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> encode(const ChannelAddress& address) {
  std::vector<std::byte> bytes;
  bytes.reserve(kChannelAddressBytes);
  FieldWriter write(bytes);
  write.number(kVersion, 1);
  write.number(address.mtu, 1);
  write.number(address.qpn, 4);
  write.number(address.psn, 4);
  for (const std::uint8_t byte : address.gid) write.number(byte, 1);
  write.number(address.device_guid, 8);
  return bytes;
}

Result<ChannelAddress> decode_address(std::span<const std::byte> bytes) {
  if (bytes.size() != kChannelAddressBytes)
    return malformed_address(fmt::format("{} bytes, expected {}", bytes.size(), kChannelAddressBytes));
  FieldReader read(bytes);
  RW_TRY(check_field("version", read.number(1), kVersion, kVersion));
  ChannelAddress address;
  address.mtu = std::uint8_t(read.number(1));
  address.qpn = std::uint32_t(read.number(4));
  address.psn = std::uint32_t(read.number(4));
  for (std::uint8_t& byte : address.gid) byte = std::uint8_t(read.number(1));
  address.device_guid = read.number(8);
  RW_TRY(check_field("path MTU", address.mtu, 1, 5));
  RW_TRY(check_field("queue pair number", address.qpn, 1, kNumberMask));
  RW_TRY(check_field("packet sequence number", address.psn, 0, kNumberMask));
  if (std::ranges::all_of(address.gid, [](std::uint8_t byte) { return byte == 0; })) return malformed_address("no GID");
  return address;
}

}  // namespace railweave::wire::verbs
