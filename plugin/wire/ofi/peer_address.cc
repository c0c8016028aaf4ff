#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/peer_address.h"

#include <fmt/format.h>
#include <rdma/fabric.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"

namespace railweave::wire::ofi {
namespace {

constexpr std::byte kVersion{1};
constexpr std::size_t kFixedBytes = 6;  // in front of the provider's name

Status malformed(const std::string& what) {
  return Status(Code::remote, Scope::lane, "malformed address of an ofi channel: " + what);
}

sa_family_t family_of(std::span<const std::byte> name) {
  sa_family_t family = AF_UNSPEC;
  if (name.size() >= sizeof(sockaddr)) std::memcpy(&family, name.data(), sizeof family);
  return family;
}

Status check_string(std::span<const std::byte> name) {
  const auto end = std::ranges::find(name, std::byte{0});
  return !name.empty() && end == name.end() - 1 ? Status()
                                                : malformed("a text that does not end in its only zero byte");
}

// Errors: the peer's name is not of the kind of `own`.
Status check_name(std::span<const std::byte> name, std::span<const std::byte> own, std::uint32_t format) {
  if (format == FI_ADDR_STR) return check_string(name);
  if (name.size() != own.size())
    return malformed(fmt::format("a name of {} bytes, expected {}", name.size(), own.size()));
  const bool is_socket_address = format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
  if (is_socket_address && family_of(name) != family_of(own))
    return malformed(fmt::format("address family {}, expected {} as of this rail", family_of(name), family_of(own)));
  return {};
}

}  // namespace

std::vector<std::byte> encode(const PeerAddress& address) {
  const std::string provider = address.provider.substr(0, kProviderBytesMax);
  std::vector<std::byte> bytes{kVersion};
  for (std::size_t i = 0; i < 4; ++i) bytes.push_back(std::byte(address.token >> (8 * i)));
  bytes.push_back(std::byte(provider.size()));
  for (const char letter : provider) bytes.push_back(std::byte(letter));
  bytes.insert(bytes.end(), address.name.begin(), address.name.end());
  return bytes;
}

Result<PeerAddress> decode_address(std::span<const std::byte> bytes, const PeerAddress& own, std::uint32_t format) {
  if (bytes.size() <= kFixedBytes || bytes.size() > message::kAddressBytesMax)
    return malformed(
        fmt::format("{} bytes, expected {} to {}", bytes.size(), kFixedBytes + 1, message::kAddressBytesMax));
  if (bytes[0] != kVersion)
    return malformed(fmt::format("version {}, expected {}", unsigned(bytes[0]), unsigned(kVersion)));
  const auto provider_bytes = std::size_t(bytes[kFixedBytes - 1]);
  if (kFixedBytes + provider_bytes >= bytes.size())
    return malformed(fmt::format("{} bytes, expected more than {}", bytes.size(), kFixedBytes + provider_bytes));
  PeerAddress address;
  for (std::size_t i = 0; i < 4; ++i) address.token |= std::uint32_t(bytes[1 + i]) << (8 * i);
  for (const std::byte letter : bytes.subspan(kFixedBytes, provider_bytes)) address.provider += char(letter);
  if (address.provider != own.provider.substr(0, kProviderBytesMax))
    return Status(Code::remote, Scope::lane,
                  fmt::format("the peer's provider of libfabric is {}, and this end's is {}: use the same libfabric at "
                              "both ends",
                              address.provider, own.provider));
  const std::span<const std::byte> name = bytes.subspan(kFixedBytes + provider_bytes);
  RW_TRY(check_name(name, own.name, format));
  address.name.assign(name.begin(), name.end());
  return address;
}

}  // namespace railweave::wire::ofi
#endif
