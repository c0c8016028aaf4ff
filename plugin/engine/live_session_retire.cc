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
    for (int i = 0; i < lanes_.count(); ++i)
      if (lanes_.at(i).is_open() && lanes_.at(i).rails() == too_many.rails) its.push_back(lanes_.at(i).id());
    std::ranges::sort(its);
    if (its.size() > std::size_t(too_many.keep)) retiring.insert(retiring.end(), its.begin() + too_many.keep, its.end());
  }
  bool news = false;
  for (int i = 0; i < lanes_.count(); ++i) {
    if (!lanes_.at(i).is_open()) continue;
    const protocol::LaneId id = lanes_.at(i).id();
    const bool retires = std::ranges::find(retiring, id) != retiring.end();
    {
      const SharedProtocol::Locked locked = protocol_.lock();
      if (!locked->retire(id, retires)) continue;
      locked.publish();
    }
    news = true;
    RW_INFO(net, "lane {} to {} {}", id, peer_, retires ? "retires: others carry what it stood in for" : "serves again");
  }
  if (news) wake();
}

// Of the peer, who dialled it: its frames and ours are consumed.
void LiveSession::end_retired(protocol::LaneId id) {
  lanes_.with_lane(id, [&](LaneDriver& lane) {
    if (!protocol_.lock()->is_retiring(id)) return;
    lane_over(lane, Status(Code::remote, Scope::lane, "no longer needed, says the peer"), false);
  });
}

}  // namespace railweave::engine
