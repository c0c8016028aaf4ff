// Lanes of a live session that end in good order (docs/reliability.md, "Stand-ins").
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/live_session.h"

namespace railweave::engine {

void LiveSession::retire(const std::vector<Surplus>& surplus) {
  if (surplus.empty() && !std::exchange(any_retires_, false)) return;
  any_retires_ = !surplus.empty();
  std::vector<protocol::LaneId> retiring;
  for (const Surplus& too_many : surplus) {
    std::vector<protocol::LaneId> its;
    for (int i = 0; i < lane_count(); ++i)
      if (lanes_[i]->descriptor() >= 0 && lanes_[i]->rails() == too_many.rails) its.push_back(lanes_[i]->id());
    std::ranges::sort(its);
    if (its.size() > std::size_t(too_many.keep)) retiring.insert(retiring.end(), its.begin() + too_many.keep, its.end());
  }
  bool news = false;
  for (int i = 0; i < lane_count(); ++i) {
    if (lanes_[i]->descriptor() < 0) continue;
    const protocol::LaneId id = lanes_[i]->id();
    const bool retires = std::ranges::find(retiring, id) != retiring.end();
    {
      const std::lock_guard lock(mutex_);
      if (!protocol_.retire(id, retires)) continue;
      publish();
    }
    news = true;
    RW_INFO(net, "lane {} to {} {}", id, peer_, retires ? "retires: others carry what it stood in for" : "serves again");
  }
  if (news) wake();
}

// Of the peer, who dialled it: its frames and ours are consumed.
void LiveSession::end_retired(protocol::LaneId id) {
  for (int i = 0; i < lane_count(); ++i) {
    if (lanes_[i]->id() != id) continue;
    const auto claim = lanes_[i]->claimed();
    if (lanes_[i]->id() != id || !lanes_[i]->open()) continue;
    {
      const std::lock_guard lock(mutex_);
      if (!protocol_.is_retiring(id)) return;
    }
    return lane_over(*lanes_[i], Status(Code::remote, Scope::lane, "no longer needed, says the peer"), false);
  }
}

}  // namespace railweave::engine
