#include "engine/connect/handle.h"

#include <cstring>
#include <string>

#include "base/crc32c.h"
#include "base/random.h"
#include "engine/connect/hello.h"

namespace railweave::engine {
namespace {

constexpr std::uint32_t kMagic = 0x56574c52;       // "RLWV"
constexpr std::uint16_t kVersion = kHelloVersion;  // so that connect() reports a release that cannot shake hands

struct WireAddress {
  std::uint8_t family;
  std::uint8_t zero;
  std::uint16_t port;
  std::uint8_t address[16];
};

struct WireHandle {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint8_t addresses;
  std::uint8_t zero;
  std::uint32_t crc;
  std::uint8_t instance[16];
  std::uint32_t listener;
  WireAddress address[kHandleAddresses];
};
static_assert(sizeof(WireHandle) == kHandleFixedBytes);

std::uint32_t crc_of(WireHandle h) {
  h.crc = 0;
  return crc32c(std::as_bytes(std::span(&h, 1)));
}

Status bad(const std::string& what) { return Status(Code::invalid_argument, Scope::request, what); }

}  // namespace

Handle encode_handle(const HandleContent& content) {
  WireHandle h{};
  h.magic = kMagic;
  h.version = kVersion;
  h.listener = content.listener;
  std::memcpy(h.instance, content.instance.data(), sizeof h.instance);
  for (const PeerAddress& a : content.addresses) {
    if (h.addresses == kHandleAddresses) break;
    WireAddress& out = h.address[h.addresses++];
    out.family = std::uint8_t(a.address.family);
    out.port = a.port;
    std::memcpy(out.address, a.address.bytes.data(), sizeof out.address);
  }
  h.crc = crc_of(h);
  Handle handle{};
  std::memcpy(handle.data(), &h, sizeof h);
  return handle;
}

Result<HandleContent> decode_handle(const Handle& handle) {
  WireHandle h;
  std::memcpy(&h, handle.data(), sizeof h);
  if (h.magic != kMagic)
    return bad("the handle is not Railweave's (magic " + std::to_string(h.magic) + ", expected " +
               std::to_string(kMagic) + "): does the peer run this plugin?");
  if (h.version != kVersion)
    return bad("the handle has version " + std::to_string(h.version) + ", expected " + std::to_string(kVersion) +
               ": the peer runs another release of Railweave");
  if (h.crc != crc_of(h)) return bad("the handle is damaged: its CRC does not match");
  if (h.addresses == 0 || h.addresses > kHandleAddresses)
    return bad("the handle has " + std::to_string(h.addresses) + " addresses, expected 1 to 4");
  HandleContent content;
  content.listener = h.listener;
  std::memcpy(content.instance.data(), h.instance, sizeof h.instance);
  for (int i = 0; i < h.addresses; ++i) {
    const WireAddress& in = h.address[i];
    if ((in.family != 4 && in.family != 6) || in.port == 0)
      return bad("the handle's address " + std::to_string(i) + " has family " + std::to_string(in.family) +
                 " and port " + std::to_string(in.port));
    PeerAddress a;
    a.address.family = Address::Family(in.family);
    a.address.prefix_bits = in.family == 4 ? 32 : 128;
    a.port = in.port;
    std::memcpy(a.address.bytes.data(), in.address, sizeof in.address);
    content.addresses.push_back(a);
  }
  return content;
}

std::string local_name(const InstanceId& instance) { return "railweave-" + hex(instance); }

}  // namespace railweave::engine
