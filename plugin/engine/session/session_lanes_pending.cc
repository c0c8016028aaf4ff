// Lanes on their way: both instances have agreed on them, and their wire may need a while to make them.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/without_memory.h"
#include "engine/session/session_lanes.h"

namespace railweave::engine {

using namespace std::chrono_literals;

Nanos time_of_pending_lane(const Config& config) {
  return std::min(config.peer_timeout, std::clamp<Nanos>(config.connect_timeout / 2, 1s, 10s));
}

// A lane on its way counts as being dialled: the peer may have its own end already, use that end, and leave.
void SessionLanes::begin_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::PendingLane> pending,
                              bool doubtful) {
  assert(pending);
  if (protocol_.is_over()) return;
  // the link carried the handshake; the kernel's report that the link is up may still be on its way
  links_down_ &= ~(std::uint64_t{1} << rails.local);
  pending_.push_back({id, rails, std::move(pending), doubtful, protocol_.now() + options_.pending_most});
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    health_(locked).lane_agreed();
  }
  poll_pending();
}

void SessionLanes::poll_pending() {
  for (std::size_t i = 0; i < pending_.size();) {
    Result<std::unique_ptr<wire::Lane>> made = poll(pending_[i]);
    if (made.ok() && !*made) {
      ++i;
      continue;
    }
    const PendingEntry entry = std::move(pending_[i]);
    pending_.erase(pending_.begin() + std::ptrdiff_t(i));
    if (made.ok()) establish(entry, std::move(*made));
    join_ended();
    if (!made.ok()) on_not_established(entry, made.status());
    if (protocol_.is_over()) return pending_.clear();
  }
}

// Guarded: without memory a lane that the peer counts on would be missing, and neither side would dial it again.
void SessionLanes::establish(const PendingEntry& entry, std::unique_ptr<wire::Lane> lane) {
  (void)owner_.guarded([&] {
    if (add_lane(entry.id, entry.rails, std::move(lane), entry.doubtful)) owner_.on_lane_came();
  });
}

// Returns null while the lane is pending.
Result<std::unique_ptr<wire::Lane>> SessionLanes::poll(PendingEntry& entry) const {
  Result<std::unique_ptr<wire::Lane>> made = [&]() -> Result<std::unique_ptr<wire::Lane>> {
    try {
      return entry.lane->poll();
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }();
  if (made.ok() && !*made && protocol_.now() >= entry.given_up_at)
    return Status(
        Code::remote, Scope::lane,
        fmt::format("it did not come about within {} s", std::chrono::duration<double>(options_.pending_most).count()),
        ETIMEDOUT);
  return made;
}

// If the first lane of a session cannot be made, the session ends: neither side dials another lane.
void SessionLanes::on_not_established(const PendingEntry& entry, const Status& why) {
  RW_INFO(net, "no lane {} to {}: {}", entry.id, peer_, why.message());
  failed_.push_back(entry.id);
  bool never_had_one = false, is_leaving = false;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    never_had_one = health_(locked).pairs_that_carried().empty();
    is_leaving = locked.is_leaving();
  }
  if (protocol_.is_over()) return;
  if (never_had_one && pending_.empty())
    owner_.lose(why.message(), why.system_errno());
  else if (!is_leaving)
    owner_.on_lane_wanted();
}

bool SessionLanes::was_begun(protocol::LaneId id) const {
  for (const PendingEntry& entry : pending_)
    if (entry.id == id) return true;
  return std::ranges::find(failed_, id) != failed_.end();
}

std::vector<RailPair> SessionLanes::rails_in_use() const {
  std::vector<RailPair> rails = table_.rails_of_lanes();
  for (const PendingEntry& entry : pending_) rails.push_back(entry.rails);
  return rails;
}

void SessionLanes::close() {
  pending_.clear();
  table_.close();
}

}  // namespace railweave::engine
