#include "engine/session/lane_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <set>

namespace railweave::engine {

int LaneTable::find_free() {
  const int places = count();
  int place = 0;
  while (place < places && !at(place).is_free()) ++place;
  if (place == kPlacesMax) return -1;
  if (place == places) places_[std::size_t(place)] = std::make_unique<LaneDriver>(protocol_, arrivals_, options_);
  return place;
}

void LaneTable::publish(int place) {
  assert(place <= count());
  if (place == count()) count_.store(place + 1, std::memory_order_release);
}

std::vector<RailPair> LaneTable::rails_of_lanes() const {
  std::vector<RailPair> open;
  for (int i = 0; i < count(); ++i)
    if (at(i).is_open()) open.push_back(at(i).rails());
  return open;
}

std::vector<LaneTable::OpenLane> LaneTable::open_lanes() const {
  std::vector<OpenLane> open;
  const MutexLock lock(metrics_mutex_);
  for (int i = 0; i < count(); ++i)
    if (at(i).is_open()) open.push_back({at(i).id(), at(i).rails(), metrics_[std::size_t(i)]->wire});
  return open;
}

bool LaneTable::every_lane_is_blocked() const {
  bool any = false;
  for (int i = 0; i < count(); ++i) {
    if (!at(i).is_open()) continue;
    if (!at(i).blocked()) return false;
    any = true;
  }
  return any;
}

bool LaneTable::any_is_ending() const {
  for (int i = 0; i < count(); ++i)
    if (at(i).is_ending()) return true;
  return false;
}

LaneDriver* LaneTable::find(const LaneRef& lane) const {
  LaneDriver& driver = at(lane.place);
  return driver.generation() == lane.generation && driver.is_open() ? &driver : nullptr;
}

std::uint64_t LaneTable::outstanding_bytes() const {
  std::uint64_t sum = 0;
  each_claimed([&](LaneDriver& lane) {
    lane.assert_claimed();
    sum += lane.outstanding_bytes();
  });
  return sum;
}

std::string LaneTable::rail_names() const {
  std::set<std::string> rails;
  each_claimed([&](LaneDriver& lane) {
    lane.assert_claimed();
    if (lane.is_open()) rails.insert(lane.rail());
  });
  return fmt::format("{}", fmt::join(rails, ", "));
}

void LaneTable::count_by(int place, std::shared_ptr<const wire::LaneMetrics> metrics) {
  assert(metrics);
  const MutexLock lock(metrics_mutex_);
  if (std::size_t(place) >= metrics_.size()) metrics_.resize(std::size_t(place) + 1);
  std::shared_ptr<const wire::LaneMetrics>& its = metrics_[std::size_t(place)];
  if (its) remember(its->stats());
  its = std::move(metrics);
}

std::vector<LaneStats> LaneTable::stats() const {
  std::vector<LaneStats> stats;
  const MutexLock lock(metrics_mutex_);
  for (const auto& metrics : metrics_) stats.push_back(metrics->stats());
  stats.insert(stats.end(), gone_.begin(), gone_.end());
  return stats;
}

void LaneTable::close() const {
  each_claimed([](LaneDriver& lane) {
    lane.assert_claimed();
    lane.close();
  });
}

void LaneTable::remember(const LaneStats& gone) {
  const auto known = std::ranges::find_if(
      gone_, [&](const LaneStats& lane) { return lane.rail == gone.rail && lane.wire == gone.wire; });
  if (known == gone_.end()) return gone_.push_back(gone);
  LaneStats sum = gone;  // the addresses are those of the lane that went last
  sum.bytes_sent += known->bytes_sent;
  sum.bytes_received += known->bytes_received;
  sum.frames_sent += known->frames_sent;
  sum.frames_received += known->frames_received;
  sum.write_calls += known->write_calls;
  sum.read_calls += known->read_calls;
  sum.retransmits += known->retransmits;
  sum.damaged_frames += known->damaged_frames;
  sum.without_credit += known->without_credit;
  *known = std::move(sum);
}

}  // namespace railweave::engine
