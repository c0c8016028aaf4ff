#include "tests/sim/knock.h"

#include <algorithm>

namespace railweave::sim {
namespace {

constexpr Nanos kEvery = std::chrono::seconds(1);

}  // namespace

bool Knock::wants() const {
  return !near_.over() && !near_.is_leaving() && near_.host().lives() && (near_.session().live_lanes() == 0 || near_.lanes().peer_is_silent());
}

void Knock::look() {
  if (asks_ || !wants()) return;
  asks_ = true;
  asked_.clear();
  for (HostRail& near : near_.host().rails)
    for (HostRail& far : far_.host().rails)
      if (!near.link_down) ask(near, far);
  net_.after(near_.host().clock.world(kEvery), [this, alive = alive_] {
    if (!*alive) return;
    asks_ = false;
    look();
  });
}

void Knock::ask(HostRail& near, HostRail& far) {
  const engine::RailPair pair{int(&near - near_.host().rails.data()), int(&far - far_.host().rails.data())};
  auto lanes = net_.connect(*near.link, *far.link);
  const auto question = asked_.emplace_back(std::make_shared<Question>(Question{std::move(lanes.first), std::move(lanes.second)}));
  question->near->send_word([this, alive = alive_, asked = std::weak_ptr(question), pair] {
    const auto still = asked.lock();  // none: it took too long, another is asked
    if (!*alive || !still || far_.host().fate == Host::Fate::lost_power) return;
    const bool refused = !far_.host().lives(), there = !refused && !far_.over();
    if (there) on_heard({pair.remote, pair.local});
    still->far->send_word([this, alive = alive_, there, refused, pair] {
      const auto its = [&](const SessionEnd::OpenLane& lane) { return lane.rails == pair; };
      if (*alive && !there && wants() && !(refused && std::ranges::any_of(near_.open_lanes(), its)))
        on_over(Status(Code::remote, Scope::session, "the peer's host knows nothing of the session"));
    });
  });
}

}  // namespace railweave::sim
