// What became of the wires that both ends had agreed on: to which peer, by which rail of ours.
//
// A wire that brought no lane is left out for a while, so the next dial goes by another one. A wire that brought lanes
// to a peer is worth another try where a later wire of the list serves instead.
// Threads: the reactor's only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "engine/connect/handle.h"
#include "railweave/units.h"

namespace railweave::engine {

class WireHistory {
 public:
  static constexpr Nanos kLeftOut = std::chrono::seconds(60);
  static constexpr std::size_t kEntriesMax = 4096;  // the oldest goes first

  // The wire brought no lane. `why`: not empty.
  void note_failure(TimePoint now, int rail, const InstanceId& peer, std::string_view wire, std::string why);
  // The wire brought a lane.
  void note_lane(TimePoint now, int rail, const InstanceId& peer, std::string_view wire);
  bool is_left_out(TimePoint now, int rail, const InstanceId& peer, std::string_view wire) const;
  // Returns why the wire brought no lane the last time. REQUIRES: is_left_out().
  const std::string& why_left_out(int rail, const InstanceId& peer, std::string_view wire) const;
  // By any rail of ours.
  bool has_brought_lanes(const InstanceId& peer, std::string_view wire) const;

 private:
  struct Key {
    InstanceId peer;
    int rail;
    std::string wire;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    TimePoint failed_at = TimePoint::min();  // the last time; min(): never
    std::string why;                         // the last failure
    bool has_brought_lanes = false;
    TimePoint noted_at{};
  };

  Entry& entry(TimePoint now, int rail, const InstanceId& peer, std::string_view wire);
  const Entry* find(int rail, const InstanceId& peer, std::string_view wire) const;

  std::map<Key, Entry> entries_;
};

}  // namespace railweave::engine
