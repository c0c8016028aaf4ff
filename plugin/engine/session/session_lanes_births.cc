// Lanes on their way: both instances have agreed on them, and their wire may need a while to make them.
#include <algorithm>
#include <cassert>
#include <cerrno>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/without_memory.h"
#include "engine/session/session_lanes.h"

namespace railweave::engine {

// A lane on its way counts as being dialled: the peer may have its own end already, use that end, and leave.
void SessionLanes::begin_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::PendingLane> pending,
                              bool doubtful) {
  assert(pending);
  if (protocol_.is_over()) return;
  // the link carried the handshake; the kernel's report that the link is up may still be on its way
  links_down_ &= ~(std::uint64_t{1} << rails.local);
  births_.push_back({id, rails, std::move(pending), doubtful, protocol_.now() + options_.health.peer_timeout});
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    health_(locked).lane_agreed();
  }
  poll_births();
}

void SessionLanes::poll_births() {
  for (std::size_t i = 0; i < births_.size();) {
    Result<std::unique_ptr<wire::Lane>> made = poll(births_[i]);
    if (made.ok() && !*made) {
      ++i;
      continue;
    }
    const Birth birth = std::move(births_[i]);
    births_.erase(births_.begin() + std::ptrdiff_t(i));
    if (made.ok()) stand(birth, std::move(*made));
    join_ended();
    if (!made.ok()) not_made(birth, made.status());
    if (protocol_.is_over()) return births_.clear();
  }
}

// Guarded: without memory a lane that the peer counts on would be missing, and neither side would dial it again.
void SessionLanes::stand(const Birth& birth, std::unique_ptr<wire::Lane> lane) {
  (void)owner_.guarded([&] {
    if (add_lane(birth.id, birth.rails, std::move(lane), birth.doubtful)) owner_.on_lane_came();
  });
}

// Returns null while the lane is pending.
Result<std::unique_ptr<wire::Lane>> SessionLanes::poll(Birth& birth) const {
  Result<std::unique_ptr<wire::Lane>> made = [&]() -> Result<std::unique_ptr<wire::Lane>> {
    try {
      return birth.pending->poll();
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }();
  if (made.ok() && !*made && protocol_.now() >= birth.given_up_at)
    return Status(Code::remote, Scope::lane, "it did not come about within the peer timeout (RAILWEAVE_PEER_TIMEOUT)",
                  ETIMEDOUT);
  return made;
}

// If the first lane of a session cannot be made, the session ends: neither side dials another lane.
void SessionLanes::not_made(const Birth& birth, const Status& why) {
  RW_INFO(net, "no lane {} to {}: {}", birth.id, peer_, why.message());
  not_made_.push_back(birth.id);
  bool never_had_one = false, is_leaving = false;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    never_had_one = health_(locked).pairs_that_carried().empty();
    is_leaving = locked.is_leaving();
  }
  if (protocol_.is_over()) return;
  if (never_had_one && births_.empty())
    owner_.lose(why.message(), why.system_errno());
  else if (!is_leaving)
    owner_.on_lane_wanted();
}

bool SessionLanes::was_begun(protocol::LaneId id) const {
  for (const Birth& birth : births_)
    if (birth.id == id) return true;
  return std::ranges::find(not_made_, id) != not_made_.end();
}

std::vector<RailPair> SessionLanes::rails_in_use() const {
  std::vector<RailPair> rails = table_.rails_of_lanes();
  for (const Birth& birth : births_) rails.push_back(birth.rails);
  return rails;
}

void SessionLanes::close() {
  births_.clear();
  table_.close();
}

}  // namespace railweave::engine
