// What is heard of a session's lanes, and what follows from silence (docs/reliability.md, "How a lane ends"). A silent lane is
// given up only when another one was heard meanwhile; when none is, it is the peer that is silent, and nothing is given up.
//
// No clock, no socket: the reactor's thread asks with what lanes report.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "railweave/units.h"

namespace railweave::engine {

// Of one open lane.
struct LaneSign {
  std::uint32_t generation = 0;            // of its place: another one's signs are not its own
  std::uint64_t heard = 0;                 // grows with what came on it and with what the peer's kernel acknowledged
  std::optional<TimePoint> silent_since;   // wire::Lane's
  bool link_down = false;                  // of our rail
  bool owed = false;                       // something on it is not acknowledged: silence would show
};

class LaneSigns {
 public:
  static constexpr Nanos kSilenceMost = std::chrono::seconds(1);     // of a lane
  static constexpr Nanos kAskAfter = std::chrono::milliseconds(400); // of a lane's silence: the others are asked for a sign

  explicit LaneSigns(Nanos peer_timeout) : peer_timeout_(peer_timeout) {}

  struct Verdict {
    std::vector<int> given_up;             // silent while another lane is heard, or on a dead link while another one is not silent
    std::vector<int> asked;                // something should be sent there that is to be acknowledged
    bool peer_is_silent = false;           // no lane is heard: other pairs of rails may be
    bool peer_is_gone = false;             // for the peer timeout
  };
  // By place; none: no open lane there.
  Verdict look(TimePoint now, const std::vector<std::optional<LaneSign>>& lanes);

 private:
  struct Known {
    std::uint32_t generation = 0;
    std::uint64_t heard = 0;
    TimePoint heard_at{};
  };

  const Nanos peer_timeout_;
  std::vector<Known> known_;               // by place
};

}  // namespace railweave::engine
