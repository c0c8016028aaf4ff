#include "engine/absent_rails.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "discovery/host_view.h"
#include "discovery/rail_facts.h"
#include "discovery/rail_hazards.h"

namespace railweave::engine {
namespace {

std::vector<std::string> hazards_of(const std::vector<Rail>& rails) {
  const auto host = discovery::this_host();
  std::vector<discovery::RailFacts> facts;
  for (const Rail& rail : rails) facts.push_back(discovery::rail_facts(rail, *host));
  std::vector<std::string> told;
  for (const discovery::RailHazards& hazards : discovery::find_hazards(rails, facts)) told.push_back(discovery::verdict(rails, hazards));
  return told;
}

}  // namespace

bool AbsenceTold::ours(int rail) {
  const std::uint64_t bit = std::uint64_t{1} << rail;
  return (std::exchange(ours_, ours_ | bit) & bit) == 0;
}

bool AbsenceTold::peers() { return peers_ < kPeersMost && ++peers_ > 0; }

AbsentRails::AbsentRails(Reactor& reactor, const std::vector<Rail>& rails, std::shared_ptr<LiveSession> session, AbsenceTold& told)
    : reactor_(reactor), rails_(rails), session_(std::move(session)), told_(told) {
  timer_ = reactor_.at(now() + kAfter, [this] {
    timer_ = 0;
    look();
  });
}

AbsentRails::~AbsentRails() {
  if (timer_) reactor_.cancel(timer_);
}

void AbsentRails::know(const JoinFailures& failures, const std::vector<PeerRail>& peer_rails) {
  failures_ = &failures;
  peer_rails_ = &peer_rails;
}

std::vector<bool> AbsentRails::which_had_lanes(int RailPair::*side, std::size_t rails) const {
  std::vector<bool> had(rails);
  for (const RailPair& pair : session_->pairs_that_carried())
    if (std::size_t(pair.*side) < rails) had[std::size_t(pair.*side)] = true;
  return had;
}

void AbsentRails::look() {
  if (session_->over() || session_->is_leaving()) return;
  const std::vector<bool> ours = which_had_lanes(&RailPair::local, rails_.size());
  std::vector<std::string> hazards;  // asking the kernel takes time
  for (int rail = 0; rail < int(ours.size()); ++rail) {
    if (ours[std::size_t(rail)] || !session_->has_link(rail) || !told_.ours(rail)) continue;
    if (hazards.empty()) hazards = hazards_of(rails_);
    tell_ours(rail, hazards[std::size_t(rail)]);
  }
  if (!failures_) return;
  const std::vector<bool> peers = which_had_lanes(&RailPair::remote, peer_rails_->size());
  for (int rail = 0; rail < int(peers.size()); ++rail)
    if (!peers[std::size_t(rail)]) tell_peers(rail);
}

void AbsentRails::tell_ours(int rail, const std::string& hazard) {
  const JoinFailures::Failure* const failure = failures_ ? failures_->of_ours(rail) : nullptr;
  const std::string cause = failure ? fmt::format("to its rail {}, {} {}: {}", (*peer_rails_)[std::size_t(failure->rails.remote)].name, failure->tries,
                                                  failure->tries == 1 ? "try" : "tries", failure->why)
                            : failures_ ? "none of its rails has a link and an address of the same family"
                                        : "the peer dials, and its log says why it comes by no lane";
  RW_WARN(net, "rail {} to {}: no lane yet: {}{}", rails_[std::size_t(rail)].name, session_->peer(), cause,
          hazard == "good" ? "" : "; this host, " + rails_[std::size_t(rail)].name + ": " + hazard);
}

// Where one of ours has no lane either, both have one cause, and it has been told.
void AbsentRails::tell_peers(int rail) {
  const JoinFailures::Failure* const failure = failures_->of_peers(rail);
  const std::vector<bool> ours = which_had_lanes(&RailPair::local, rails_.size());
  if (!failure || failure->told || (*peer_rails_)[std::size_t(rail)].link_down || !ours[std::size_t(failure->rails.local)] || !told_.peers()) return;
  RW_WARN(net, "rail {} of {}: no lane yet: from {}, {} {}: {}", (*peer_rails_)[std::size_t(rail)].name, session_->peer(),
          rails_[std::size_t(failure->rails.local)].name, failure->tries, failure->tries == 1 ? "try" : "tries", failure->why);
}

}  // namespace railweave::engine
