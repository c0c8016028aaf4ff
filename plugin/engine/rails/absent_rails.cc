#include "engine/rails/absent_rails.h"

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
  std::vector<std::string> logged;
  for (const discovery::RailHazards& hazards : discovery::find_hazards(rails, facts))
    logged.push_back(discovery::verdict(rails, hazards));
  return logged;
}

}  // namespace

AbsentRails::AbsentRails(Reactor& reactor, const std::vector<Rail>& rails, std::shared_ptr<Session> session,
                         LoggedAbsences& logged)
    : reactor_(reactor), rails_(rails), session_(std::move(session)), logged_absences_(logged) {
  poll_later();
}

AbsentRails::~AbsentRails() {
  if (timer_) reactor_.cancel(timer_);
}

void AbsentRails::know(const JoinFailures& failures, const std::vector<PeerRail>& peer_rails) {
  failures_ = &failures;
  peer_rails_ = &peer_rails;
}

void AbsentRails::poll_later() {
  const TimePoint t = now();
  see(t);
  if (!timer_) poll_at(t + kAfter);
}

void AbsentRails::poll_at(TimePoint t) {
  timer_ = reactor_.at(t, [this] {
    timer_ = 0;
    poll();
  });
}

void AbsentRails::see(TimePoint t) {
  Rails absent = which(session_->rails_of_lanes(), &RailPair::local, rails_.size());
  for (int rail = 0; rail < int(absent.size()); ++rail)
    absent[std::size_t(rail)] = !absent[std::size_t(rail)] && session_->has_link(rail);
  times_.see(t, absent);
}

AbsentRails::Rails AbsentRails::which(const std::vector<RailPair>& pairs, int RailPair::*side, std::size_t rails) {
  Rails found(rails);
  for (const RailPair& pair : pairs)
    if (std::size_t(pair.*side) < rails) found[std::size_t(pair.*side)] = true;
  return found;
}

void AbsentRails::poll() {
  if (session_->over() || session_->is_leaving()) return;
  // Without lanes, or with a silent peer, no rail is to blame. The peer of an unused session may be a stranger.
  if (session_->is_without_lanes() || session_->peer_is_silent() || !session_->used()) return poll_later();
  const TimePoint t = now();
  see(t);
  const std::vector<RailPair> open = session_->rails_of_lanes(), carried = session_->pairs_that_carried();
  const Rails ours = which(open, &RailPair::local, rails_.size()),
              ours_before = which(carried, &RailPair::local, rails_.size());
  std::vector<std::string> hazards;  // found when the first line needs them: asking the kernel takes time
  for (int rail = 0; rail < int(ours.size()); ++rail) {
    if (!times_.is_due(rail, t)) continue;
    const std::string cause = cause_of(rail, ours_before[std::size_t(rail)]);
    if (cause.empty()) continue;
    times_.logged(rail);
    if (!logged_absences_.may_log_ours(rail)) continue;
    if (hazards.empty()) hazards = hazards_of(rails_);
    log_ours(rail, ours_before[std::size_t(rail)], cause, hazards[std::size_t(rail)]);
  }
  if (const auto next = times_.next(t)) poll_at(*next);
  if (!failures_) return;
  const Rails peers = which(carried, &RailPair::remote, peer_rails_->size());
  for (int rail = 0; rail < int(peers.size()); ++rail)
    if (!peers[std::size_t(rail)]) log_peers(rail, ours);
}

namespace {

std::string tries(const JoinFailures::Failure& failure) {
  return fmt::format("{} {}", failure.tries, failure.tries == 1 ? "try" : "tries");
}

}  // namespace

// Returns why our rail has no lane. Empty: RailLog has logged all that is known.
std::string AbsentRails::cause_of(int rail, bool carried) const {
  if (!failures_) return "the peer dials the lanes; its log says why this rail has none";
  const JoinFailures::Failure* const failure = failures_->of_ours(rail, session_->pairs_that_carried());
  if (!failure) return carried ? "" : "none of its rails has a link and an address of the same family";
  const PeerRail& theirs = (*peer_rails_)[std::size_t(failure->rails.remote)];
  if (theirs.link_down && carried) return "";
  return fmt::format("to its rail {}, {}: {}", theirs.name, tries(*failure), failure->why);
}

void AbsentRails::log_ours(int rail, bool carried, const std::string& cause, const std::string& hazard) {
  // A hazard that begins with "good" can keep a rail from its first lane only. A rail that carried had that lane.
  const bool concerns = hazard != "good" && !(carried && hazard.starts_with("good"));
  RW_WARN(net, "rail {} to {}: no lane{}: {}{}", rails_[std::size_t(rail)].name, session_->peer(),
          carried ? "" : " yet", cause,
          concerns ? "; this host, " + rails_[std::size_t(rail)].name + ": " + hazard : "");
}

// Logs a peer's rail that never had a lane. Where our rail of the failed pair has no lane either, both have one cause,
// which poll() has logged for our rail.
void AbsentRails::log_peers(int rail, const Rails& ours) {
  const JoinFailures::Failure* const failure = failures_->of_peers(rail);
  if (!failure || failure->logged || (*peer_rails_)[std::size_t(rail)].link_down ||
      !ours[std::size_t(failure->rails.local)] || !logged_absences_.may_log_peers())
    return;
  RW_WARN(net, "rail {} of {}: no lane yet: from {}, {}: {}", (*peer_rails_)[std::size_t(rail)].name, session_->peer(),
          rails_[std::size_t(failure->rails.local)].name, tries(*failure), failure->why);
}

}  // namespace railweave::engine
