#include "engine/rails/rail_listeners.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/process_limits.h"
#include "discovery/address_choice.h"
#include "engine/runtime/fork_guard.h"

namespace railweave::engine {
namespace {

constexpr std::size_t kDescriptorsWanted = 16;  // beside the listeners: enough for an engine and one or two peers

std::vector<Address> one_of_each_family(const std::vector<Address>& addresses) {
  std::vector<Address> first;
  for (const Address& address : addresses)
    if (std::ranges::find(first, address.family, &Address::family) == first.end()) first.push_back(address);
  return first;
}

bool is_announced(const Address& address, const PeerRail& rail) {
  return std::ranges::any_of(
      rail.addresses, [&](const PeerAddress& announced) { return discovery::same_host(announced.address, address); });
}

}  // namespace

RailListeners::~RailListeners() { close(); }

Status RailListeners::open(const Config& config, const std::vector<Rail>& rails) {
  options_ = {config.congestion_control, config.traffic_class, config.peer_timeout};
  ports_ = config.ports;
  for (int i = 0; i < int(rails.size()); ++i) RW_TRY(put(i, rails[std::size_t(i)]));
  if (const std::size_t left = descriptors_left(); left < kDescriptorsWanted)
    RW_WARN(init, "this process may open {} more descriptors{}: each lane needs one, and connections wait for them",
            left, descriptor_hint(EMFILE));
  return {};
}

Result<std::unique_ptr<RailListeners::Listening>> RailListeners::make_listening(int index, const Rail& rail,
                                                                                const Address& address) {
  Result<wire::Listening> listening = wire::listen_at(address, ports_, options_, rail.vrf);
  if (listening.status().code() == Code::exhausted)
    return Status(
        Code::exhausted, Scope::engine,
        fmt::format("{} (RAILWEAVE_PORTS: every process of the host needs one port at each address, two while the "
                    "address is on two rails)",
                    listening.status().message()),
        listening.status().system_errno());
  if (const Status& why = listening.status(); !why.ok())
    return Status(why.code(), why.scope(), why.message() + port_hint(why.system_errno()), why.system_errno());
  auto listener = std::make_unique<Listening>(reactor_, logged_failure_);
  listener->rail = index;
  listener->address = address;
  listener->port = listening->address.port();
  listener->fd = std::move(listening->fd);
  return listener;
}

bool RailListeners::is_retired(const Listening& listener) const {
  return !is_announced(listener.address, rails_[std::size_t(listener.rail)]);
}

// Returns the rail's own listener at this address, else one that another rail gave up; null: neither.
RailListeners::Listening* RailListeners::find(int rail, const Address& address) {
  Listening* left = nullptr;
  for (const auto& listener : listeners_) {
    if (!discovery::same_host(listener->address, address)) continue;
    if (listener->rail == rail) return listener.get();
    if (listener->released || is_retired(*listener)) left = listener.get();
  }
  return left;
}

void RailListeners::release(int index, const std::vector<Address>& all_but) {
  for (const auto& listener : listeners_)
    if (listener->rail == index)
      listener->released = std::ranges::none_of(
          all_but, [&](const Address& has) { return discovery::same_host(has, listener->address); });
}

bool RailListeners::announces(int index, const Rail& rail) const {
  if (index >= int(rails_.size())) return false;
  const auto by_family = one_of_each_family(rail.addresses);
  return std::ranges::equal(rails_[std::size_t(index)].addresses, by_family, {}, &PeerAddress::address);
}

Status RailListeners::put(int index, const Rail& rail) {
  PeerRail announced{rail.name, std::uint32_t(rail.speed.megabits()), {}, false};
  std::vector<std::unique_ptr<Listening>> made;
  std::vector<std::pair<Listening*, Address>> had;
  for (const Address& address : one_of_each_family(rail.addresses)) {
    Listening* listener = find(index, address);
    if (listener) {
      had.emplace_back(listener, address);
    } else {
      RW_ASSIGN_OR_RETURN(std::unique_ptr<Listening> fresh, make_listening(index, rail, address));
      listener = made.emplace_back(std::move(fresh)).get();
    }
    announced.addresses.push_back({address, listener->port});
  }
  listeners_.reserve(listeners_.size() + made.size());
  rails_.resize(std::max(rails_.size(), std::size_t(index) + 1));
  for (const auto& [listener, address] : had) {
    listener->rail = index;
    listener->released = false;
    listener->address = address;  // the prefix length may have changed
    const auto place = std::ranges::find(listeners_, listener, &std::unique_ptr<Listening>::get);
    std::rotate(place, place + 1, listeners_.end());  // moves this listener to the end
  }
  for (auto& listener : made) {
    guard_descriptor(listener->fd.get());
    if (on_connection_) serve(*listener, rail.name);
    listeners_.push_back(std::move(listener));
  }
  rails_[std::size_t(index)] = std::move(announced);
  close_oldest_retired(index);
  return {};
}

// True if another rail announces the address, and this rail has no listener there any more. The listener either went to
// the other rail, or is released because both rails had the address, and a listener each, for a while.
bool RailListeners::is_reassigned(int index, const Address& address) const {
  const auto keeps = [&](const auto& listener) {
    return listener->rail == index && !listener->released && discovery::same_host(listener->address, address);
  };
  if (std::ranges::any_of(listeners_, keeps)) return false;
  for (std::size_t other = 0; other < rails_.size(); ++other)
    if (int(other) != index && is_announced(address, rails_[other])) return true;
  return false;
}

std::vector<int> RailListeners::take_reassigned() {
  std::vector<int> reassigned;
  reassigned.reserve(rails_.size());
  for (int index = 0; index < int(rails_.size()); ++index) {
    const auto is_lost = [&](const PeerAddress& announced) { return is_reassigned(index, announced.address); };
    if (std::erase_if(rails_[std::size_t(index)].addresses, is_lost) == 0) continue;
    close_oldest_retired(index);
    reassigned.push_back(index);
  }
  return reassigned;
}

void RailListeners::close_oldest_retired(int rail) {
  const auto is_its = [&](const auto& listener) { return listener->rail == rail && is_retired(*listener); };
  auto surplus = std::ranges::count_if(listeners_, is_its) - kRetiredMax;
  std::erase_if(listeners_, [&](const auto& listener) {
    const bool goes = is_its(listener) && surplus-- > 0;
    if (goes) close(*listener);
    return goes;
  });
}

void RailListeners::serve(Listening& listener, const std::string& rail_name) {
  const Status s = listener.accept_loop.open(listener.fd.get(), "cannot accept connections",
                                             [this, &listener] { return accept_one(listener); });
  if (!s.ok())
    RW_WARN(net, "rail {}: does not accept connections on {}: {}", rail_name,
            wire::to_string(wire::local_address(listener.fd.get())), s.message());
}

Result<bool> RailListeners::accept_one(const Listening& listener) {
  RW_ASSIGN_OR_RETURN(wire::Accepted accepted, wire::accept_from(listener.fd.get()));
  if (!accepted.fd) return false;
  on_connection_(std::move(accepted), listener.rail);
  return true;
}

void RailListeners::serve(OnConnection on_connection) {
  on_connection_ = std::move(on_connection);
  for (auto& listener : listeners_) serve(*listener, rails_[std::size_t(listener->rail)].name);
}

void RailListeners::close(Listening& listener) {
  listener.accept_loop.close();
  release_descriptor(listener.fd.get());
}

void RailListeners::close() {
  for (auto& listener : listeners_) close(*listener);
  listeners_.clear();
}

}  // namespace railweave::engine
