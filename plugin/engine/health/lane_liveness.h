// Finds the lanes and the peer of a session that no longer answer (docs/operate/reliability.md, "How a lane ends"). A
// silent lane is given up only if another lane was heard since its silence began. If no lane is heard, the peer is
// silent, and no lane is given up.
//
// Pure functions of the reports of lanes. Threads: any.
#pragma once

#include <optional>
#include <vector>

#include "railweave/units.h"
#include "wire/wire.h"

namespace railweave::engine {

// Liveness of one open lane.
struct LaneLiveness {
  wire::AckStatus ack_status;
  bool link_down = false;  // the link of our rail is down
};

struct SilenceVerdict {
  // indices into `lanes`: silent while another lane is heard, or on a dead link while another lane works
  std::vector<int> given_up;
  std::vector<int> asked;       // indices into `lanes`: send a frame there that the peer's kernel acknowledges
  bool peer_is_silent = false;  // no lane is heard; other pairs of rails may still work
  // no lane was heard for the peer timeout; for twice that time if the peer probed within kProbeGrace
  bool peer_is_gone = false;
};

// The peer counts as silent if no lane was heard for this time. The wire decides when a lane is silent.
inline constexpr Nanos kPeerSilenceMost = std::chrono::seconds(1);
// Arrivals on another lane prove that the peer answers if they come this long after a lane's silence began, or as long
// as answers usually take there. Earlier arrivals may have been under way before.
inline constexpr Nanos kHeardAfter = std::chrono::milliseconds(100);

// A peer that probed within this time is alive, and a lane may come of its probe.
inline constexpr Nanos kProbeGrace = std::chrono::seconds(3);

// `lanes[i]`: none: no open lane there. `probed_at`: when the last peer probe came; min(): never.
SilenceVerdict detect_silent_lanes(TimePoint now, const std::vector<std::optional<LaneLiveness>>& lanes,
                                   Nanos peer_timeout, TimePoint probed_at = TimePoint::min());

}  // namespace railweave::engine
