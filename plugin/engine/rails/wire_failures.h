// The wires that both ends had agreed on and that brought no lane: to which peer, by which rail of ours. Such a wire is
// left out for a while, so the next dial goes by another one. Threads: the reactor's only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "engine/connect/handle.h"
#include "railweave/units.h"

namespace railweave::engine {

class WireFailures {
 public:
  static constexpr Nanos kLeftOut = std::chrono::seconds(60);
  static constexpr std::size_t kEntriesMax = 4096;  // the oldest goes first

  void note(TimePoint now, int rail, const InstanceId& peer, std::string_view wire);
  bool is_left_out(TimePoint now, int rail, const InstanceId& peer, std::string_view wire) const;

 private:
  struct Key {
    InstanceId peer;
    int rail;
    std::string wire;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::map<Key, TimePoint> failed_at_;
};

}  // namespace railweave::engine
