// The 128 bytes that a listener hands to its peer (docs/internals/protocol.md). Bytes 0..111, little endian:
//   0 magic u32 | 4 version u16 | 6 addresses u8 | 7 zero | 8 crc32c of bytes 0..111 with this field zero
//   12 instance 16 | 28 listener u32 | 32 four times: family u8 (4, 6, 0: none), zero, port u16, address 16
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "railweave/device.h"
#include "railweave/endpoint.h"
#include "railweave/status.h"

namespace railweave::engine {

using InstanceId = std::array<std::uint8_t, 16>;

struct PeerAddress {
  Address address;
  std::uint16_t port = 0;
  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

struct HandleContent {
  InstanceId instance{};
  std::uint32_t listener = 0;
  std::vector<PeerAddress> addresses;  // of different rails, best first
};

inline constexpr std::size_t kHandleAddresses = 4;

// Returns the abstract name of the socket at which an instance listens for peers of its own host
// (docs/internals/shm.md).
std::string local_name(const InstanceId& instance);

Handle encode_handle(const HandleContent& content);
// Errors: Code::invalid_argument. The message says whether the handle is foreign, of another version, or damaged.
Result<HandleContent> decode_handle(const Handle& handle);

}  // namespace railweave::engine
