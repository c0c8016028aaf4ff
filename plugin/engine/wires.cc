#include "engine/wires.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "wire/shm/wire.h"
#include "wire/tcp/wire.h"

namespace railweave::engine {
namespace {

// The table. Of one reach the likelier wire comes first, and the plain one last.
std::vector<const wire::Wire*> all_wires() { return {&wire::tcp_wire(), &wire::shm_wire()}; }

}  // namespace

Wires::Wires(const Config& config) : Wires(config, all_wires()) {}

Wires::Wires(const Config& config, std::vector<const wire::Wire*> wires) : config_(config), wires_(std::move(wires)), within_host_(open(nullptr)) {}

Wires::Ports Wires::open(const Rail* rail) const {
  const auto reach = rail ? wire::Wire::Reach::between_hosts : wire::Wire::Reach::within_host;
  Ports ports;
  for (const wire::Wire* wire : wires_) {
    if (wire->reach() != reach || !wire->is_available()) continue;
    Result<std::unique_ptr<wire::Port>> port = wire->open(rail, config_);
    if (port.ok()) ports.push_back({wire, std::move(*port)});
    else RW_WARN(net, "no {} on {}: {}", wire->name(), rail ? rail->name : "this host", port.status().message());
  }
  return ports;
}

void Wires::know_rail(int rail, const Rail& is) {
  assert(rail >= 0 && std::size_t(rail) <= by_rail_.size());
  if (std::size_t(rail) >= by_rail_.size()) by_rail_.resize(std::size_t(rail) + 1);
  by_rail_[std::size_t(rail)] = open(&is);
}

Wires::Ports& Wires::ports_of(int rail) {
  assert(rail == kWithinHost || (rail >= 0 && std::size_t(rail) < by_rail_.size()));
  return rail == kWithinHost ? within_host_ : by_rail_[std::size_t(rail)];
}

Result<Wires::Begun> Wires::begin(OpenPort& open, bool is_plain, wire::Port::Role role, wire::Offer heard) {
  Begun begun;
  RW_ASSIGN_OR_RETURN(begun.pending, open.port->begin_lane(role));
  if (role == wire::Port::Role::acceptor) RW_TRY(begun.pending->hear(std::move(heard)));
  RW_ASSIGN_OR_RETURN(wire::Offer offer, begun.pending->offer());
  if (!is_plain) begun.offer = WireOffer{std::string(open.wire->name()), std::move(offer.bytes)};
  begun.descriptor = std::move(offer.descriptor);
  return begun;
}

Result<Wires::Begun> Wires::dial(int rail) {
  Ports& ports = ports_of(rail);
  if (ports.empty()) return Status(Code::system, Scope::lane, "no wire can be used here");
  return begin(ports.front(), ports.size() == 1, wire::Port::Role::dialler, {});
}

Result<Wires::Begun> Wires::accept(int rail, const std::optional<WireOffer>& offered, OwnedFd descriptor) {
  Ports& ports = ports_of(rail);
  if (ports.empty()) return Status(Code::system, Scope::lane, "no wire can be used here");
  auto its = offered ? std::ranges::find(ports, offered->wire, [](const OpenPort& open) { return open.wire->name(); }) : ports.end();
  if (its == ports.end()) return begin(ports.back(), true, wire::Port::Role::acceptor, {{}, std::move(descriptor)});
  return begin(*its, false, wire::Port::Role::acceptor, {offered->bytes, std::move(descriptor)});
}

Status Wires::agree(int rail, Begun& begun, const std::optional<WireOffer>& answered) {
  assert(begun.pending);
  if (!begun.offer) return begun.pending->hear({});
  if (answered && answered->wire == begun.offer->wire) return begun.pending->hear({answered->bytes});
  RW_ASSIGN_OR_RETURN(begun, begin(ports_of(rail).back(), true, wire::Port::Role::dialler, {}));
  return begun.pending->hear({});
}

}  // namespace railweave::engine
