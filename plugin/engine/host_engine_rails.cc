// Links that go down and come up, and rails that are new, come back or have other addresses (docs/reliability.md, "Links and new
// rails").
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "discovery/host_view.h"
#include "discovery/rails.h"
#include "engine/host_engine.h"

namespace railweave::engine {

void HostEngine::on_link(int rail, bool up) {
  std::erase(rails_down_, rail);
  if (!up) rails_down_.push_back(rail);
  doors_.tell_link(rail, up);
  for (const auto& session : sessions()) session->tell_link(rail, up);
  tell_rail(rail);
  if (!up) return;
  for (const auto& [session, absent] : absent_rails_) absent->look_later();
  for (const auto& [session, upkeep] : upkeeps_) upkeep->on_link_up(rail);
}

bool HostEngine::look_for_rails() {
  Result<std::vector<discovery::UsableRail>> found = discovery::usable_rails(config_, *discovery::this_host(), rails_now_);
  if (!found.ok()) {
    RW_INFO(net, "no new rails: {}", found.status().message());
    return false;
  }
  for (int i = 0; i < int(rails_now_.size()); ++i) {
    const auto its = std::ranges::find(*found, i, &discovery::UsableRail::known);
    doors_.release(i, its == found->end() ? std::vector<Address>() : its->rail.addresses);
  }
  bool all_taken = true;
  for (auto& [rail, known] : *found) all_taken &= take_rail(known, std::move(rail));
  for (const int robbed : doors_.take_robbed()) tell_rail(robbed);
  const std::lock_guard lock(table_mutex_);
  announced_ = doors_.rails();  // of all together: in between one may be without what another has not got yet
  return all_taken;
}

// `known`: as which of rails_now_, or -1.
bool HostEngine::take_rail(int known, Rail rail) {
  const bool is_new = known < 0;
  const int index = is_new ? int(rails_now_.size()) : known;
  if (!is_new) {
    const Rail& before = rails_now_[std::size_t(index)];
    if (before.name == rail.name && before.ifindex == rail.ifindex && before.addresses == rail.addresses && doors_.tells(index, rail)) return true;
  }
  // A device that is one rail gets no second one, and no device is added: NCCL has seen the list.
  if (is_new && config_.devices != DeviceModel::aggregate) return true;
  if (is_new && index == int(protocol::kRailsMax)) {
    if (!std::exchange(said_too_many_, true)) RW_WARN(net, "interface {} is no rail: there have been {} already", rail.name, index);
    return true;
  }
  if (const Status s = doors_.put(index, rail); !s.ok()) {
    if (told_of_no_use_.insert(rail.name).second) RW_WARN(net, "rail {} is of no use: {}", rail.name, s.message());
    return false;
  }
  told_of_no_use_.erase(rail.name);
  RW_INFO(net, "rail {} {}", rail.name, is_new ? "is new" : "is another interface, or has another name or other addresses");
  const discovery::LinkState link{rail.ifindex, true};
  if (is_new) editions_.push_back(0);
  if (is_new) rails_now_.emplace_back();
  rails_now_[std::size_t(index)] = std::move(rail);
  wires_.know_rail(index, rails_now_[std::size_t(index)]);
  link_watch_.hear({link});
  tell_rail(index);
  for (const auto& [session, absent] : absent_rails_) absent->look_later();
  for (const auto& [session, upkeep] : upkeeps_) upkeep->on_own_rail(index);
  return true;
}

void HostEngine::tell_rail(int index) {
  ++editions_[std::size_t(index)];
  for (const auto& session : sessions())
    if (rail_logs_.contains(session.get())) session->tell_rail(news_of(index));
}

protocol::RailNews::Statement HostEngine::news_of(int rail) const {
  const std::vector<std::byte> bytes = encode_rail(doors_.rails()[std::size_t(rail)]);
  return {rail, editions_[std::size_t(rail)], std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

void HostEngine::on_rails_told(std::shared_ptr<LiveSession> session) {
  reactor_.run_soon([this, session = std::move(session)] { hear_rails(*session); });
}

void HostEngine::hear_rails(LiveSession& session) {
  std::vector<LaneUpkeep::PeerRailNews> heard;
  for (const protocol::RailNews::Statement& news : session.take_told_rails()) {
    Result<PeerRail> rail = decode_rail(std::as_bytes(std::span(news.bytes)));
    if (!rail.ok()) return session.lose("it told of its rail " + std::to_string(news.rail) + ": " + std::string(rail.status().message()));
    RW_INFO(net, "{} says of its rail {}: {}", session.peer(), rail->name, state_of(*rail));
    if (const auto it = knocks_.find(&session); it != knocks_.end()) it->second->on_peer_rail(news.rail, *rail);
    heard.push_back({news.rail, std::move(*rail)});
  }
  if (const auto it = upkeeps_.find(&session); it != upkeeps_.end()) it->second->on_peer_rails(heard);
}

}  // namespace railweave::engine
