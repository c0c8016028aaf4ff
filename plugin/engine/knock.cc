#include "engine/knock.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/without_memory.h"

namespace railweave::engine {

Knock::Knock(Reactor& reactor, const Identity& self, const InstanceId& peer, int traffic_class,
             std::shared_ptr<LiveSession> session, std::vector<PeerRail> peer_rails)
    : reactor_(reactor), self_(self), peer_(peer), traffic_class_(traffic_class), session_(std::move(session)),
      peer_rails_(std::move(peer_rails)) {}

Knock::~Knock() {
  if (timer_) reactor_.cancel(timer_);
}

void Knock::on_peer_rail(int rail, PeerRail is) {
  peer_rails_.resize(std::max(peer_rails_.size(), std::size_t(rail) + 1));
  peer_rails_[std::size_t(rail)] = std::move(is);
}

void Knock::look() {
  if (timer_ || session_->over() || session_->is_leaving()) return;
  try {
    const bool without_lanes = session_->is_without_lanes();
    if (!without_lanes && !session_->peer_is_silent()) {
      pause_ = kSoon;
      asked_.clear();
      return;
    }
    const int local_rails = int(self_.rails->size()), remote_rails = int(peer_rails_.size());
    const std::vector<RailPair> pairs =
        without_lanes ? session_->pairs_that_carried() : spread_pairs(candidate_pairs(*self_.rails, peer_rails_), local_rails, remote_rails);
    const Nanos time = pairs.size() > kAskedMax ? RailPairs::kTimeOfMany : RailPairs::kTime;
    for (std::size_t n = 0; n < pairs.size() && asked_.size() < kAskedMax; ++n) {
      const RailPair& rails = pairs[turn_++ % pairs.size()];
      if (session_->has_link(rails.local)) ask(rails, time);
    }
    timer_ = reactor_.at(now() + pause_, [this] {
      timer_ = 0;
      look();
    });
    pause_ = std::min(2 * pause_, kEvery);
  } catch (const std::bad_alloc&) {  // nobody would ask again
    session_->fail(out_of_memory());
  }
}

// What is asked still says what our rails were before: told late, the peer would take it for news.
void Knock::on_lane() { asked_.clear(); }

void Knock::ask(const RailPair& rails, Nanos time) {
  if (std::size_t(rails.remote) >= peer_rails_.size()) return;
  const Rail& rail = (*self_.rails)[std::size_t(rails.local)];
  Route route;
  if (!best_route(rail, peer_rails_[std::size_t(rails.remote)], route, families_.avoided(rails))) return;
  families_.failed(rails, route.source.family);  // an answer ends the asking: the next time the other has its turn
  if (!why_no_route(rail, route).empty()) return;
  Hello hello = join_hello(self_, peer_, session_->serial(), traffic_class_, 0, rails);
  hello.rails = *self_.announced;  // all of our addresses may be others by now, and no lane is left to say so
  auto& place = asked_.emplace_back();
  auto asked = std::make_shared<const Handshake*>(nullptr);
  place = Handshake::dial(reactor_, dial_spec(self_, rail, route, traffic_class_), hello, {self_.key, session_->secret()}, now() + time,
                          [this, asked, rails](Handshake::Outcome outcome) { on_answer(*asked, rails, outcome); });
  *asked = place.get();
}

void Knock::on_answer(const Handshake* asked, const RailPair& rails, const Handshake::Outcome& outcome) {
  const auto self = std::ranges::find(asked_, asked, [](const auto& a) { return a.get(); });
  assert(self != asked_.end());
  const std::unique_ptr<Handshake> over = std::move(*self);  // lives until we return
  asked_.erase(self);
  const std::vector<RailPair> open = session_->rails_of_lanes();
  if (session_->is_leaving() || (!open.empty() && !session_->peer_is_silent())) return;
  using Refusal = Hello::Refusal;
  const Refusal refusal = outcome.status.ok() ? outcome.hello.refusal : Refusal::none;
  if (refusal == Refusal::unknown_session) return session_->lose("it says: " + outcome.hello.reason);  // no other instance says so
  if (!session_->speaks_for_peer(rails)) return;
  const bool beside_own = std::ranges::find(open, rails) != open.end();  // beside its own silent lane it may be a firewall's word
  if (refusal == Refusal::stranger) {
    session_->lose("it says: " + outcome.hello.reason);
  } else if (outcome.status.system_errno() == ECONNREFUSED && !beside_own) {
    session_->lose(outcome.status.message(), ECONNREFUSED);
  }
}

}  // namespace railweave::engine
