#include "engine/rails/wires.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "wire/shm/wire.h"
#include "wire/tcp/wire.h"

namespace railweave::engine {

static_assert(kWireOfferBytesMax == wire::kOfferBytesMax);

namespace {

// The table of wires. In each reach the preferred wire is first, and the plain one last.
std::vector<const wire::Wire*> all_wires() { return {&wire::tcp_wire(), &wire::shm_wire()}; }

}  // namespace

Wires::Wires(const Config& config) : Wires(config, all_wires()) {}

Wires::Wires(const Config& config, std::vector<const wire::Wire*> wires)
    : config_(config), wires_(std::move(wires)), within_host_(open(nullptr)) {}

Wires::Ports Wires::open(const Rail* rail) const {
  const auto reach = rail ? wire::Wire::Reach::between_hosts : wire::Wire::Reach::within_host;
  Ports ports;
  const wire::Wire* plain = nullptr;
  for (const wire::Wire* wire : wires_) {
    if (wire->reach() != reach) continue;
    assert(!wire->name().empty() && wire->name().size() <= kWireNameMax);
    plain = wire;
    if (!wire->is_available()) continue;
    Result<std::unique_ptr<wire::Port>> port = wire->open(rail, config_);
    if (port.ok())
      ports.push_back({wire, false, std::move(*port)});
    else
      RW_WARN(net, "wire {} is not available on {}: {}", wire->name(), rail ? rail->name : "this host",
              port.status().message());
  }
  for (OpenPort& open : ports) open.is_plain = open.wire == plain;
  return ports;
}

void Wires::know_rail(int rail, const Rail& is) {
  assert(rail >= 0 && std::size_t(rail) <= by_rail_.size());
  Ports ports = open(&is);  // allocations first: by_rail_ changes only when all of them succeeded
  if (std::size_t(rail) == by_rail_.size()) by_rail_.emplace_back();
  by_rail_[std::size_t(rail)] = std::move(ports);
}

Wires::Ports& Wires::ports_of(int rail) {
  assert(rail == kWithinHost || (rail >= 0 && std::size_t(rail) < by_rail_.size()));
  return rail == kWithinHost ? within_host_ : by_rail_[std::size_t(rail)];
}

Result<Wires::Begun> Wires::begin(OpenPort& open, wire::Port::Role role, wire::Offer received) {
  Begun begun;
  RW_ASSIGN_OR_RETURN(begun.pending, open.port->begin_lane(role));
  if (role == wire::Port::Role::acceptor) RW_TRY(begun.pending->complete(std::move(received)));
  RW_ASSIGN_OR_RETURN(wire::Offer offer, begun.pending->offer());
  assert(offer.bytes.size() <= wire::kOfferBytesMax);
  if (!open.is_plain) begun.offer = WireOffer{std::string(open.wire->name()), std::move(offer.bytes)};
  begun.descriptor = std::move(offer.descriptor);
  return begun;
}

Result<Wires::Begun> Wires::begin_plain(Ports& ports, wire::Port::Role role, wire::Offer received) {
  const auto plain = std::ranges::find(ports, true, &OpenPort::is_plain);
  if (plain == ports.end())
    return Status(Code::system, Scope::lane, "the plain wire, which every peer has, is not available on this host");
  return begin(*plain, role, std::move(received));
}

Result<Wires::Begun> Wires::dial(int rail) {
  Result<Begun> begun = Status(Code::system, Scope::lane, "no wire is available on this host");
  for (OpenPort& open : ports_of(rail))
    if (begun = begin(open, wire::Port::Role::dialler, {}); begun.ok()) break;
  return begun;
}

Result<Wires::Begun> Wires::accept(int rail, const std::optional<WireOffer>& offered, OwnedFd descriptor) {
  Ports& ports = ports_of(rail);
  const auto its = std::ranges::find_if(
      ports, [&](const OpenPort& open) { return offered && !open.is_plain && open.wire->name() == offered->wire; });
  if (its == ports.end()) return begin_plain(ports, wire::Port::Role::acceptor, {{}, std::move(descriptor)});
  Result<Begun> begun = begin(*its, wire::Port::Role::acceptor, {offered->bytes});
  if (begun.ok() || begun.status().code() == Code::remote) return begun;
  RW_INFO(net, "wire {}, which a peer offers for a lane, failed: {}; the lane uses the plain wire", its->wire->name(),
          begun.status().message());
  return begin_plain(ports, wire::Port::Role::acceptor, {});
}

Status Wires::agree(int rail, Begun& begun, const std::optional<WireOffer>& answered) {
  assert(begun.pending);
  if (!begun.offer) return begun.pending->complete({});
  if (answered && answered->wire == begun.offer->wire) return begun.pending->complete({answered->bytes});
  RW_ASSIGN_OR_RETURN(begun, begin_plain(ports_of(rail), wire::Port::Role::dialler, {}));
  return begun.pending->complete({});
}

}  // namespace railweave::engine
