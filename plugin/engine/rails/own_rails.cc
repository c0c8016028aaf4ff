#include "engine/rails/own_rails.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/address_text.h"
#include "base/error.h"
#include "base/log.h"
#include "base/without_memory.h"
#include "discovery/host_view.h"
#include "discovery/rails.h"
#include "protocol/session_protocol.h"
#include "wire/bootstrap/address.h"

namespace railweave::engine {

OwnRails::OwnRails(const Config& config, Reactor& reactor, std::vector<Rail> rails)
    : config_(config),
      now_(std::move(rails)),
      editions_(now_.size()),
      wires_(config),
      rail_listeners_(reactor),
      link_watch_(reactor, now_) {
  for (std::size_t i = 0; i < now_.size(); ++i) wires_.know_rail(int(i), now_[i]);
}

Status OwnRails::open() {
  RW_TRY(rail_listeners_.open(config_, now_));
  update_announced();
  return {};
}

void OwnRails::serve(RailListeners::OnConnection on_connection, Observer observer) {
  observer_ = std::move(observer);
  until_memory([&] { rail_listeners_.serve(on_connection); });  // without memory no peer could ever connect
  link_watch_.open([this](int rail, bool up) { on_link(rail, up); },
                   [this](int rail) { now_[std::size_t(rail)].ifindex = 0; }, [this] { return update_rails(); });
}

void OwnRails::close() {
  rail_listeners_.close();
  link_watch_.close();
}

void OwnRails::on_link(int rail, bool up) {
  std::erase(down_, rail);
  if (!up) down_.push_back(rail);
  rail_listeners_.set_link(rail, up);
  ++editions_[std::size_t(rail)];
  observer_.on_link(rail, up);
}

bool OwnRails::update_rails() {
  Result<std::vector<discovery::UsableRail>> found = discovery::usable_rails(config_, *discovery::this_host(), now_);
  if (!found.ok()) {
    RW_INFO(net, "cannot look for new rails: {}", found.status().message());
    return false;
  }
  for (int i = 0; i < int(now_.size()); ++i) {
    const auto its = std::ranges::find(*found, i, &discovery::UsableRail::known);
    rail_listeners_.release(i, its == found->end() ? std::vector<Address>() : its->rail.addresses);
  }
  bool all_taken = true;
  for (auto& [rail, known] : *found) all_taken &= take_rail(known, std::move(rail));
  for (const int reassigned : rail_listeners_.take_reassigned()) announce(reassigned);
  update_announced();  // once for all rails: halfway, an address that moves between two rails may be on neither
  return all_taken;
}

bool OwnRails::take_rail(int known, Rail rail) {
  const bool is_new = known < 0;
  const int index = is_new ? int(now_.size()) : known;
  if (!is_new) {
    const Rail& before = now_[std::size_t(index)];
    if (before.name == rail.name && before.ifindex == rail.ifindex && before.addresses == rail.addresses &&
        rail_listeners_.announces(index, rail))
      return true;
  }
  // Where each device is one rail, no rail is added: NCCL has read the list of devices.
  if (is_new && config_.devices != DeviceModel::aggregate) return true;
  if (is_new && index == int(protocol::kRailsMax)) {
    if (!std::exchange(logged_too_many_, true))
      RW_WARN(net, "interface {} is not used: there have been {} rails already", rail.name, index);
    return true;
  }
  if (const Status s = rail_listeners_.put(index, rail); !s.ok()) {
    if (logged_unused_.insert(rail.name).second) RW_WARN(net, "rail {} is not used: {}", rail.name, s.message());
    return false;
  }
  logged_unused_.erase(rail.name);
  RW_INFO(net, "rail {} {}", rail.name,
          is_new ? "is new" : "is another interface, or has another name or other addresses");
  const discovery::LinkState link{rail.ifindex, true};
  editions_.reserve(std::size_t(index) + 1);  // allocations first: editions_ and now_ grow together
  now_.reserve(std::size_t(index) + 1);
  wires_.know_rail(index, rail);
  if (is_new) editions_.push_back(0);
  if (is_new) now_.emplace_back();
  now_[std::size_t(index)] = std::move(rail);
  link_watch_.apply({link});
  announce(index);
  observer_.on_rail(index);
  return true;
}

void OwnRails::announce(int rail) {
  assert(rail >= 0 && std::size_t(rail) < editions_.size() && editions_.size() == now_.size());
  ++editions_[std::size_t(rail)];
  observer_.on_news(rail);
}

protocol::RailUpdates::Statement OwnRails::news_of(int rail) const {
  const std::vector<std::byte> bytes = encode_rail(rail_listeners_.rails()[std::size_t(rail)]);
  return {rail, editions_[std::size_t(rail)], std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

void OwnRails::update_announced() {
  const MutexLock lock(mutex_);
  announced_ = rail_listeners_.rails();
}

std::vector<PeerRail> OwnRails::announced() const {
  const MutexLock lock(mutex_);
  return announced_;
}

std::vector<RailStats> OwnRails::stats() const {
  std::vector<RailStats> rails;
  for (const PeerRail& rail : announced()) {
    rails.push_back({rail.name, {}, link_watch_.is_up(int(rails.size()))});
    for (const PeerAddress& at : rail.addresses) rails.back().addresses.push_back(to_string(at.address));
  }
  return rails;
}

}  // namespace railweave::engine
