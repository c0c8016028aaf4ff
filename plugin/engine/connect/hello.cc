#include "engine/connect/hello.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/error.h"
#include "engine/admission/challenge.h"
#include "protocol/frame.h"

namespace railweave::engine {
namespace {

constexpr std::uint64_t kKnownFeatures = kFeatureEncrypt | kFeatureOffers;
constexpr std::size_t kRailsMax = protocol::kRailsMax;
constexpr std::size_t kAddressesMax = 8;
constexpr std::uint8_t kLinkDown = 1;  // bit of a rail's flags

struct Fixed {
  std::uint64_t magic;
  std::uint16_t version, kind;
  std::uint32_t body_bytes;
  std::uint64_t features;
  std::uint8_t from[16], to[16];
  std::uint64_t session;
  std::uint16_t lane;
  std::uint8_t local_rail, remote_rail, traffic_class, refusal;
  std::uint16_t zero;
  std::uint32_t crc;  // CRC32C of the whole message, with this field zero
  std::uint32_t padding_bytes;
};
static_assert(sizeof(Fixed) == kHelloFixedBytes);

Status bad(const std::string& what) { return Status(Code::remote, Scope::lane, "handshake: " + what); }

class Writer {
 public:
  template <class T>
  void number(T value) {
    const auto* p = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), p, p + sizeof value);
  }
  void text(std::string_view s) {
    s = s.substr(0, 255);
    number(std::uint8_t(s.size()));
    const auto* p = reinterpret_cast<const std::byte*>(s.data());
    bytes.insert(bytes.end(), p, p + s.size());
  }
  std::vector<std::byte> bytes;
};

// Reads past the end set `ok` to false and return zeroes.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}
  template <class T>
  T number() {
    T value{};
    if (const std::byte* p = next(sizeof value)) std::memcpy(&value, p, sizeof value);
    return value;
  }
  std::string text() {
    const std::size_t n = number<std::uint8_t>();
    const std::byte* p = next(n);
    return p ? std::string(reinterpret_cast<const char*>(p), n) : std::string();
  }
  const std::byte* next(std::size_t n) {
    if (n > in_.size()) ok = false;
    if (!ok) return nullptr;
    const std::byte* p = in_.data();
    in_ = in_.subspan(n);
    return p;
  }
  bool at_end() const { return in_.empty(); }
  bool ok = true;

 private:
  std::span<const std::byte> in_;
};

void write_rail(Writer& w, const PeerRail& rail) {
  w.text(rail.name);
  w.number(rail.speed_mbps);
  w.number(rail.link_down ? kLinkDown : std::uint8_t{0});
  const std::size_t n = std::min(rail.addresses.size(), kAddressesMax);
  w.number(std::uint8_t(n));
  for (std::size_t i = 0; i < n; ++i) {
    const PeerAddress& a = rail.addresses[i];
    w.number(std::uint8_t(a.address.family));
    w.number(a.address.prefix_bits);
    w.number(a.port);
    w.number(a.address.bytes);
  }
}

Status read_rail(Reader& r, PeerRail& rail) {
  rail.name = r.text();
  rail.speed_mbps = r.number<std::uint32_t>();
  rail.link_down = (r.number<std::uint8_t>() & kLinkDown) != 0;
  const std::size_t n = r.number<std::uint8_t>();
  if (n > kAddressesMax) return bad("a rail with " + std::to_string(n) + " addresses, expected at most 8");
  for (std::size_t i = 0; i < n; ++i) {
    PeerAddress a;
    const auto family = r.number<std::uint8_t>();
    if (r.ok && family != 4 && family != 6)
      return bad("an address of family " + std::to_string(family) + ", expected 4 or 6");
    a.address.family = Address::Family(family);
    a.address.prefix_bits = r.number<std::uint8_t>();
    a.port = r.number<std::uint16_t>();
    a.address.bytes = r.number<std::array<std::uint8_t, 16>>();
    if (r.ok && a.address.prefix_bits > (family == 4 ? 32 : 128))
      return bad("an address with a prefix of " + std::to_string(a.address.prefix_bits) + " bits");
    rail.addresses.push_back(a);
  }
  return {};
}

void write_offer(Writer& w, const WireOffer& offer) {
  w.text(offer.wire);
  w.number(std::uint16_t(offer.bytes.size()));
  w.bytes.insert(w.bytes.end(), offer.bytes.begin(), offer.bytes.end());
}

Status read_offer(Reader& r, WireOffer& offer) {
  offer.wire = r.text();
  const std::size_t n = r.number<std::uint16_t>();
  if (offer.wire.empty() || offer.wire.size() > kWireNameMax)
    return bad("a wire's name of " + std::to_string(offer.wire.size()) + " characters, expected 1 to " +
               std::to_string(kWireNameMax));
  if (n > kWireOfferBytesMax)
    return bad("an offer of " + std::to_string(n) + " bytes for wire " + offer.wire + ", expected at most " +
               std::to_string(kWireOfferBytesMax));
  if (const std::byte* p = r.next(n)) offer.bytes.assign(p, p + n);
  return {};
}

Status read_offers(Reader& r, std::vector<WireOffer>& offers) {
  const std::size_t n = r.number<std::uint8_t>();
  if (n < 1 || n > kWireOffersMax)
    return bad(std::to_string(n) + " offers of wires, expected 1 to " + std::to_string(kWireOffersMax));
  offers.resize(n);
  for (WireOffer& offer : offers) RW_TRY(read_offer(r, offer));
  return {};
}

bool may_be_padded(std::uint16_t kind) {
  return kind == std::uint16_t(Hello::Kind::welcome) || kind == std::uint16_t(Hello::Kind::confirm);
}

std::string version_message(std::uint16_t found) {
  return "version " + std::to_string(found) + ", expected " + std::to_string(kHelloVersion) +
         ": the peer runs another release of Railweave";
}

}  // namespace

std::vector<std::byte> encode_rail(const PeerRail& rail) {
  Writer w;
  write_rail(w, rail);
  return std::move(w.bytes);
}

Result<PeerRail> decode_rail(std::span<const std::byte> bytes) {
  Reader r(bytes);
  PeerRail rail;
  RW_TRY(read_rail(r, rail));
  if (!r.ok || !r.at_end())
    return Status(Code::remote, Scope::lane, "a description of a rail that is cut short, or followed by more bytes");
  return rail;
}

Hello confirm_of(const Hello& welcome) {
  Hello confirm = welcome;
  confirm.kind = Hello::Kind::confirm;
  confirm.from = welcome.to;
  confirm.to = welcome.from;
  confirm.peer.clear();
  confirm.rails.clear();
  confirm.offers.clear();
  confirm.features &= ~kFeatureOffers;
  return confirm;
}

std::vector<std::byte> encode_hello(const Hello& hello) {
  Fixed f{};
  f.magic = kHelloMagic;
  f.version = hello.version;
  f.kind = std::uint16_t(hello.kind);
  f.features = hello.features | (hello.offers.empty() ? 0 : kFeatureOffers);
  std::memcpy(f.from, hello.from.data(), 16);
  std::memcpy(f.to, hello.to.data(), 16);
  f.session = hello.session;
  f.lane = hello.lane;
  f.local_rail = hello.local_rail;
  f.remote_rail = hello.remote_rail;
  f.traffic_class = hello.traffic_class;
  f.refusal = std::uint8_t(hello.refusal);
  Writer body;
  body.text(hello.peer);
  body.text(hello.reason);
  const std::size_t rails = std::min(hello.rails.size(), kRailsMax);
  body.number(std::uint8_t(rails));
  for (std::size_t i = 0; i < rails; ++i) write_rail(body, hello.rails[i]);
  if (!hello.offers.empty()) body.number(std::uint8_t(hello.offers.size()));
  for (const WireOffer& offer : hello.offers) write_offer(body, offer);
  f.padding_bytes = hello.padding_bytes;
  f.body_bytes = std::uint32_t(body.bytes.size()) + f.padding_bytes;
  std::vector<std::byte> message(sizeof f + f.body_bytes);
  std::memcpy(message.data(), &f, sizeof f);
  std::ranges::copy(body.bytes, message.begin() + sizeof f);
  f.crc = crc32c(message);
  std::memcpy(message.data(), &f, sizeof f);
  return message;
}

Result<std::size_t> hello_bytes(std::span<const std::byte, kHelloFixedBytes> fixed) {
  Fixed f;
  std::memcpy(&f, fixed.data(), sizeof f);
  if (f.magic != kHelloMagic) return bad("the first bytes are not those of a Railweave message");
  if (f.version != kHelloVersion) return bad(version_message(f.version));
  if (f.features & ~kKnownFeatures) return bad("unknown feature bits " + std::to_string(f.features & ~kKnownFeatures));
  const std::uint32_t padding_most = may_be_padded(f.kind) ? kHelloPaddingBytesMax : 0;
  if (f.padding_bytes > std::min(padding_most, f.body_bytes))
    return bad("padding of " + std::to_string(f.padding_bytes) + " bytes, expected at most " +
               std::to_string(std::min(padding_most, f.body_bytes)));
  if (f.body_bytes - f.padding_bytes > kHelloBodyBytesMax)
    return bad("a body of " + std::to_string(f.body_bytes - f.padding_bytes) + " bytes, expected at most " +
               std::to_string(kHelloBodyBytesMax));
  return sizeof f + f.body_bytes;
}

Result<Hello> decode_hello(std::span<const std::byte> message) {
  std::vector<std::byte> copy(message.begin(), message.end());
  Fixed f;
  std::memcpy(&f, copy.data(), sizeof f);
  const std::uint32_t found = f.crc;
  f.crc = 0;
  std::memcpy(copy.data(), &f, sizeof f);
  if (crc32c(copy) != found) return bad("the CRC does not match");
  if (f.kind < 1 || f.kind > 5) return bad("kind " + std::to_string(f.kind) + ", expected 1 to 5");
  Hello h;
  h.kind = Hello::Kind(f.kind);
  h.refusal = Hello::Refusal(f.refusal);
  h.version = f.version;
  h.features = f.features;
  std::memcpy(h.from.data(), f.from, 16);
  std::memcpy(h.to.data(), f.to, 16);
  h.session = f.session;
  h.lane = f.lane;
  h.local_rail = f.local_rail;
  h.remote_rail = f.remote_rail;
  h.traffic_class = f.traffic_class;
  h.padding_bytes = f.padding_bytes;
  if (f.padding_bytes > copy.size() - sizeof f) return bad("more padding than the message has bytes");
  Reader body(std::span<const std::byte>(copy).subspan(sizeof f, copy.size() - sizeof f - f.padding_bytes));
  h.peer = body.text();
  h.reason = body.text();
  const std::size_t rails = body.number<std::uint8_t>();
  if (rails > kRailsMax) return bad(std::to_string(rails) + " rails, expected at most " + std::to_string(kRailsMax));
  h.rails.resize(rails);
  for (PeerRail& rail : h.rails)
    if (Status s = read_rail(body, rail); !s.ok()) return s;
  if (f.features & kFeatureOffers) RW_TRY(read_offers(body, h.offers));
  if (!body.ok || !body.at_end()) return bad("the body is longer or shorter than its stated length");
  return h;
}

}  // namespace railweave::engine
