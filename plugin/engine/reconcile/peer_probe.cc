#include "engine/reconcile/peer_probe.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace railweave::engine {

PeerProbe::PeerProbe(const SessionAccess& session, std::vector<PeerRail> peer_rails)
    : timers_(session.timers),
      dialler_(session.dialler),
      lanes_(session.lanes),
      rails_(session.rails),
      peer_rails_(std::move(peer_rails)) {}

PeerProbe::~PeerProbe() {
  if (timer_) timers_.cancel(timer_);
}

void PeerProbe::on_peer_rail(int rail, PeerRail is) {
  peer_rails_.resize(std::max(peer_rails_.size(), std::size_t(rail) + 1));
  peer_rails_[std::size_t(rail)] = std::move(is);
}

void PeerProbe::poll() {
  if (timer_ || lanes_.is_over() || lanes_.is_leaving()) return;
  (void)lanes_.guarded([this] { send_probes(); });  // without memory the session fails: no later call would probe
}

void PeerProbe::send_probes() {
  const bool without_lanes = lanes_.is_without_lanes();
  if (!without_lanes && !lanes_.peer_is_silent()) {
    pause_ = kSoon;
    under_way_.clear();
    return;
  }
  const int local_rails = int(rails_.size()), remote_rails = int(peer_rails_.size());
  const std::vector<RailPair> pairs =
      without_lanes ? lanes_.pairs_that_carried()
                    : spread_pairs(candidate_pairs(rails_, peer_rails_), local_rails, remote_rails);
  const Nanos time = pairs.size() > kUnderWayMax ? RailPairs::kTimeOfMany : RailPairs::kTime;
  for (std::size_t n = 0; n < pairs.size() && under_way_.size() < kUnderWayMax; ++n) {
    const RailPair& rails = pairs[turn_++ % pairs.size()];
    if (lanes_.has_link(rails.local)) send_probe(rails, time);
  }
  timer_ = timers_.at(lanes_.now() + pause_, [this] {
    timer_ = 0;
    poll();
  });
  pause_ = std::min(2 * pause_, kEvery);
}

// Cancels probes that announce our former rails: the peer would take a late one for a new announcement.
void PeerProbe::on_lane() { under_way_.clear(); }

void PeerProbe::send_probe(const RailPair& rails, Nanos time) {
  if (std::size_t(rails.remote) >= peer_rails_.size()) return;
  Route route;
  if (!best_route(own(rails), peer_rails_[std::size_t(rails.remote)], route, families_.avoided(rails))) return;
  families_.failed(rails, route.source.family);  // the next probe, if no answer comes, uses the other one
  const std::string why = dialler_.why_no_route(rails.local, route);
  if (!why.empty()) return lanes_.try_failed(own(rails).name + ": " + why);
  auto probe = std::make_unique<Probe>(Probe{rails, nullptr});
  const JoinOrder order{.lane = 0, .rails = rails, .route = route, .time = time, .is_peer_probe = true};
  Result<std::unique_ptr<Join>> join = dialler_.join(order, [this, raw = probe.get()](const JoinAnswer& answer) {
    (void)lanes_.guarded([&] { on_answer(*raw, answer); });
  });
  if (!join.ok()) return lanes_.try_failed(own(rails).name + ": " + join.status().message());
  probe->join = std::move(*join);
  under_way_.push_back(std::move(probe));
}

void PeerProbe::on_answer(const Probe& probe, const JoinAnswer& answer) {
  const auto self = std::ranges::find(under_way_, &probe, [](const auto& a) { return a.get(); });
  assert(self != under_way_.end());
  const std::unique_ptr<Probe> over = std::move(*self);  // lives until this call returns
  under_way_.erase(self);
  lanes_.on_answer(answer, over->rails, true);
}

}  // namespace railweave::engine
