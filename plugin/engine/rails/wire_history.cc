#include "engine/rails/wire_history.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace railweave::engine {

WireHistory::Entry& WireHistory::entry(TimePoint now, int rail, const InstanceId& peer, std::string_view wire) {
  Key key{peer, rail, std::string(wire)};
  if (entries_.size() >= kEntriesMax && !entries_.contains(key))
    entries_.erase(std::ranges::min_element(entries_, {}, [](const auto& one) { return one.second.noted_at; }));
  Entry& its = entries_[std::move(key)];
  its.noted_at = now;
  return its;
}

const WireHistory::Entry* WireHistory::find(int rail, const InstanceId& peer, std::string_view wire) const {
  const auto found = entries_.find({peer, rail, std::string(wire)});
  return found == entries_.end() ? nullptr : &found->second;
}

void WireHistory::note_failure(TimePoint now, int rail, const InstanceId& peer, std::string_view wire,
                               std::string why) {
  Entry& its = entry(now, rail, peer, wire);
  its.failed_at = now;
  its.why = std::move(why);
}

void WireHistory::note_lane(TimePoint now, int rail, const InstanceId& peer, std::string_view wire) {
  Entry& its = entry(now, rail, peer, wire);
  its.failed_at = TimePoint::min();
  its.has_brought_lanes = true;
}

bool WireHistory::is_left_out(TimePoint now, int rail, const InstanceId& peer, std::string_view wire) const {
  const Entry* const its = find(rail, peer, wire);
  return its && its->failed_at != TimePoint::min() && now - its->failed_at < kLeftOut;
}

const std::string& WireHistory::why_left_out(int rail, const InstanceId& peer, std::string_view wire) const {
  const Entry* const its = find(rail, peer, wire);
  assert(its);
  return its->why;
}

bool WireHistory::has_brought_lanes(const InstanceId& peer, std::string_view wire) const {
  for (auto at = entries_.lower_bound({peer, std::numeric_limits<int>::min(), {}});
       at != entries_.end() && at->first.peer == peer; ++at)
    if (at->first.wire == wire && at->second.has_brought_lanes) return true;
  return false;
}

}  // namespace railweave::engine
