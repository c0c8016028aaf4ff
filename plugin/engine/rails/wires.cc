#include "engine/rails/wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/rails/tried_lane.h"
#include "wire/ofi/wire.h"
#include "wire/shm/wire.h"
#include "wire/tcp/wire.h"
#include "wire/verbs/wire.h"

namespace railweave::engine {

static_assert(kWireOfferBytesMax == wire::kOfferBytesMax);

namespace {

using Reach = wire::Wire::Reach;

// The table of wires.
std::vector<const wire::Wire*> all_wires() {
  return {&wire::tcp_wire(), &wire::verbs_wire(), &wire::ofi_wire(), &wire::shm_wire()};
}

// Errors: invalid_config if the setting of encryption refuses the wire.
Status may_be_used(const wire::Wire& wire, const Config& config) {
  if (!config.encrypt || wire.reach() == Reach::within_host || wire.can_encrypt()) return {};
  return Status(Code::invalid_config, Scope::engine, "this wire cannot encrypt, and RAILWEAVE_ENCRYPT is on");
}

// Returns the wires that the configuration names, in its order, and those within the host.
std::vector<const wire::Wire*> wires_of(const Config& config) {
  std::vector<const wire::Wire*> wires;
  for (const std::string& name : config.wires)
    for (const wire::Wire* wire : all_wires())
      if (wire->reach() == Reach::between_hosts && wire->name() == name) wires.push_back(wire);
  for (const wire::Wire* wire : all_wires())
    if (wire->reach() == Reach::within_host) wires.push_back(wire);
  return wires;
}

}  // namespace

Wires::Wires(const Config& config) : Wires(config, wires_of(config)) {}

Wires::Wires(const Config& config, std::vector<const wire::Wire*> wires)
    : config_(config),
      wires_(std::move(wires)),
      history_(std::make_shared<WireHistory>()),
      within_host_(open(nullptr)) {}

Status Wires::check() const {
  const auto is_between_hosts = [](const wire::Wire* wire) { return wire->reach() == Reach::between_hosts; };
  const auto is_allowed = [&](const wire::Wire* wire) {
    return is_between_hosts(wire) && may_be_used(*wire, config_).ok();
  };
  if (std::ranges::any_of(wires_, is_allowed)) return {};
  return Status(
      Code::invalid_config, Scope::engine,
      fmt::format("RAILWEAVE_WIRES={} has no wire {}; add tcp", fmt::join(config_.wires, ","),
                  std::ranges::any_of(wires_, is_between_hosts) ? "that can encrypt, and RAILWEAVE_ENCRYPT is on"
                                                                : "that this build has"));
}

std::vector<WireOnRail> Wires::describe(const Rail& rail, const Config& config) {
  std::vector<WireOnRail> all;
  for (const wire::Wire* wire : all_wires()) {
    if (wire->reach() != Reach::between_hosts) continue;
    Status why_not = may_be_used(*wire, config);
    if (why_not.ok()) why_not = wire->open(&rail, config).status();
    all.push_back({std::string(wire->name()), why_not, wire->pinned_bytes()});
  }
  return all;
}

Wires::Ports Wires::open(const Rail* rail) const {
  const Reach reach = rail ? Reach::between_hosts : Reach::within_host;
  Ports ports{rail ? "rail " + rail->name : "this host"};
  for (const wire::Wire* wire : wires_) {
    if (wire->reach() != reach) continue;
    assert(!wire->name().empty() && wire->name().size() <= kWireNameMax);
    Status why_not = may_be_used(*wire, config_);
    if (why_not.ok()) {
      Result<std::unique_ptr<wire::Port>> port = wire->open(rail, config_);
      why_not = port.status();
      if (port.ok()) ports.open.push_back({wire, std::move(*port)});
    }
    if (why_not.ok()) continue;
    RW_WARN(net, "wire {} is not used on {}: {}", wire->name(), ports.of, why_not.message());
    ports.closed += fmt::format("; {}: {}", wire->name(), why_not.message());
  }
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

Result<Wires::Candidate> Wires::begin(const OpenPort& open, wire::Port::Role role, int rail,
                                      const InstanceId& peer) const {
  Candidate candidate{open.wire};
  RW_ASSIGN_OR_RETURN(candidate.pending, open.port->begin_lane(role));
  if (!open.wire->is_plain())
    candidate.pending =
        std::make_unique<TriedLane>(std::move(candidate.pending), history_, rail, peer, open.wire->name());
  return candidate;
}

// Returns the open ports whose wires the list has before `wire`. All, if `wire` is empty or has no port.
std::span<Wires::OpenPort> Wires::ports_before(int rail, std::string_view wire) {
  std::vector<OpenPort>& open = ports_of(rail).open;
  const auto end = std::ranges::find(open, wire, [](const OpenPort& one) { return one.wire->name(); });
  return std::span(open).first(std::size_t(end - open.begin()));
}

bool Wires::has_better(int rail, const InstanceId& peer, std::string_view wire) {
  return std::ranges::any_of(ports_before(rail, wire), [&](const OpenPort& open) {
    return history_->has_brought_lanes(peer, open.wire->name());
  });
}

Result<Wires::Begun> Wires::dial(int rail, const InstanceId& peer, std::string_view better_than) {
  Begun begun;
  const std::span<OpenPort> ports = ports_before(rail, better_than);
  Status why_not(Code::system, Scope::lane, "no wire can be used" + ports_of(rail).closed);
  const auto is_left_out = [&](const OpenPort& open) {
    return history_->is_left_out(now(), rail, peer, open.wire->name());
  };
  // Where every wire failed lately, any of them is better than none.
  const bool all_are = std::ranges::all_of(ports, is_left_out);
  std::vector<std::pair<OpenPort*, Status>> left_out;
  for (OpenPort& open : ports) {
    if (!all_are && is_left_out(open)) {
      left_out.emplace_back(&open, lately_failed(open, rail, peer));
      continue;
    }
    Result<Candidate> candidate = begin(open, wire::Port::Role::dialler, rail, peer);
    Result<wire::Offer> offer = candidate.ok() ? candidate->pending->offer() : Result<wire::Offer>(candidate.status());
    if (!offer.ok()) {
      why_not = offer.status();
      left_out.emplace_back(&open, why_not);
      continue;
    }
    assert(offer->bytes.size() <= wire::kOfferBytesMax);
    candidate->offer = std::move(offer->bytes);
    if (offer->descriptor) begun.descriptor = std::move(offer->descriptor);
    begun.candidates.push_back(std::move(*candidate));
  }
  if (begun.candidates.empty()) return why_not;
  for (const auto& [open, why] : left_out) log_left_out(*open, ports_of(rail).of, why);
  return begun;
}

// Why a wire is left out that brought no lane.
Status Wires::lately_failed(const OpenPort& open, int rail, const InstanceId& peer) const {
  return Status(Code::remote, Scope::lane,
                "its last lane to this peer failed: " + history_->why_left_out(rail, peer, open.wire->name()));
}

void Wires::log_left_out(OpenPort& open, const std::string& of, const Status& why) {
  constexpr const char* kLine = "wire {} begins no lane on {}, so the lane goes by another wire of RAILWEAVE_WIRES: {}";
  if (std::exchange(open.has_warned, true)) {
    RW_INFO(net, kLine, open.wire->name(), of, why.message());
  } else {
    RW_WARN(net, kLine, open.wire->name(), of, why.message());
  }
}

namespace {

// Returns the names of the wires that a dialler offers.
std::string names_of(const std::vector<WireOffer>& offered) {
  std::string names;
  for (const WireOffer& offer : offered) names += (names.empty() ? "" : ",") + offer.wire;
  return names.empty() ? "no other than the plain one" : names;
}

}  // namespace

Result<Wires::Begun> Wires::accept(int rail, const InstanceId& peer, const std::vector<WireOffer>& offered,
                                   OwnedFd descriptor) {
  Ports& ports = ports_of(rail);
  const auto open_port = [&](auto&& is_it) -> OpenPort* {
    const auto found = std::ranges::find_if(ports.open, is_it);
    return found == ports.open.end() ? nullptr : &*found;
  };
  Status why_not(Code::invalid_config, Scope::lane,
                 fmt::format("no wire in common: the dialler offers {}; RAILWEAVE_WIRES={} here{}", names_of(offered),
                             fmt::join(config_.wires, ","), ports.closed));
  if (offered.empty()) {
    const OpenPort* const plain = open_port([](const OpenPort& open) { return open.wire->is_plain(); });
    return plain ? accept_on(*plain, rail, peer, {{}, std::move(descriptor)}) : Result<Begun>(why_not);
  }
  std::vector<std::pair<OpenPort*, const WireOffer*>> common;
  for (const WireOffer& offer : offered)
    if (OpenPort* const port = open_port([&](const OpenPort& open) { return open.wire->name() == offer.wire; }))
      common.emplace_back(port, &offer);
  const auto is_left_out = [&](const auto& one) { return history_->is_left_out(now(), rail, peer, one.second->wire); };
  // Where every common wire failed lately, any of them is better than none.
  const bool all_are = std::ranges::all_of(common, is_left_out);
  std::vector<std::pair<OpenPort*, Status>> left_out;
  for (const auto& one : common) {
    const auto& [port, offer] = one;
    const bool tries = all_are || !is_left_out(one);
    Result<Begun> begun =
        tries ? accept_on(*port, rail, peer, {offer->bytes}) : Result<Begun>(lately_failed(*port, rail, peer));
    if (begun.ok())
      for (const auto& [other, why] : left_out) log_left_out(*other, ports.of, why);
    if (begun.ok()) return begun;
    why_not = begun.status();
    left_out.emplace_back(port, why_not);
  }
  return why_not;
}

Result<Wires::Begun> Wires::accept_on(const OpenPort& open, int rail, const InstanceId& peer,
                                      wire::Offer received) const {
  RW_ASSIGN_OR_RETURN(Candidate candidate, begin(open, wire::Port::Role::acceptor, rail, peer));
  RW_TRY(candidate.pending->complete(std::move(received)));
  RW_ASSIGN_OR_RETURN(wire::Offer offer, candidate.pending->offer());
  Begun begun;
  candidate.offer = std::move(offer.bytes);
  begun.descriptor = std::move(offer.descriptor);
  begun.candidates.push_back(std::move(candidate));
  return begun;
}

Status Wires::agree(Begun& begun, const std::vector<WireOffer>& answered) {
  const auto chosen = std::ranges::find_if(begun.candidates, [&](const Candidate& candidate) {
    return answered.empty() ? candidate.wire->is_plain() : candidate.wire->name() == answered.front().wire;
  });
  if (chosen == begun.candidates.end() || answered.size() > 1)
    return Status(Code::remote, Scope::lane,
                  fmt::format("the peer answers by wire {}, which was not offered",
                              answered.empty() ? "without a name" : answered.front().wire));
  Candidate kept = std::move(*chosen);
  begun.candidates.clear();
  begun.candidates.push_back(std::move(kept));
  wire::Offer offer;
  if (!answered.empty()) offer.bytes = answered.front().bytes;
  return begun.candidates.front().pending->complete(std::move(offer));
}

std::vector<WireOffer> Wires::Begun::offers() const {
  std::vector<WireOffer> all;
  if (candidates.size() == 1 && is_plain()) return all;
  for (const Candidate& candidate : candidates) all.push_back({std::string(candidate.wire->name()), candidate.offer});
  return all;
}

std::unique_ptr<wire::PendingLane> Wires::Begun::take_agreed() {
  assert(candidates.size() == 1);
  return std::move(candidates.front().pending);
}

std::string_view Wires::Begun::agreed_wire() const {
  assert(candidates.size() == 1);
  return candidates.front().wire->name();
}

bool Wires::Begun::is_plain() const {
  assert(candidates.size() == 1);
  return candidates.front().wire->is_plain();
}

}  // namespace railweave::engine
