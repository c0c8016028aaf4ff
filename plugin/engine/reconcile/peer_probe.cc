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
  (void)lanes_.guarded([this] { ask_around(); });  // without memory the session fails: no later call would probe
}

void PeerProbe::ask_around() {
  const bool without_lanes = lanes_.is_without_lanes();
  if (!without_lanes && !lanes_.peer_is_silent()) {
    pause_ = kSoon;
    asked_.clear();
    return;
  }
  const int local_rails = int(rails_.size()), remote_rails = int(peer_rails_.size());
  const std::vector<RailPair> pairs =
      without_lanes ? lanes_.pairs_that_carried()
                    : spread_pairs(candidate_pairs(rails_, peer_rails_), local_rails, remote_rails);
  const Nanos time = pairs.size() > kAskedMax ? RailPairs::kTimeOfMany : RailPairs::kTime;
  for (std::size_t n = 0; n < pairs.size() && asked_.size() < kAskedMax; ++n) {
    const RailPair& rails = pairs[turn_++ % pairs.size()];
    if (lanes_.has_link(rails.local)) ask(rails, time);
  }
  timer_ = timers_.at(lanes_.now() + pause_, [this] {
    timer_ = 0;
    poll();
  });
  pause_ = std::min(2 * pause_, kEvery);
}

// Cancels probes that announce our former rails: the peer would take a late one for a new announcement.
void PeerProbe::on_lane() { asked_.clear(); }

void PeerProbe::ask(const RailPair& rails, Nanos time) {
  if (std::size_t(rails.remote) >= peer_rails_.size()) return;
  Route route;
  if (!best_route(own(rails), peer_rails_[std::size_t(rails.remote)], route, families_.avoided(rails))) return;
  families_.failed(rails, route.source.family);  // the next probe, if no answer comes, uses the other one
  const std::string why = dialler_.why_no_route(rails.local, route);
  if (!why.empty()) return lanes_.try_failed(own(rails).name + ": " + why);
  auto question = std::make_unique<Inquiry>(Inquiry{rails, nullptr});
  const JoinOrder order{.lane = 0, .rails = rails, .route = route, .time = time, .is_question = true};
  Result<std::unique_ptr<Join>> join = dialler_.join(order, [this, asked = question.get()](const JoinAnswer& answer) {
    (void)lanes_.guarded([&] { on_answer(*asked, answer); });
  });
  if (!join.ok()) return lanes_.try_failed(own(rails).name + ": " + join.status().message());
  question->join = std::move(*join);
  asked_.push_back(std::move(question));
}

void PeerProbe::on_answer(const Inquiry& question, const JoinAnswer& answer) {
  const auto self = std::ranges::find(asked_, &question, [](const auto& a) { return a.get(); });
  assert(self != asked_.end());
  const std::unique_ptr<Inquiry> over = std::move(*self);  // lives until this call returns
  asked_.erase(self);
  lanes_.on_answer(answer, over->rails, true);
}

}  // namespace railweave::engine
