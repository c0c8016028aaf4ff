// What is heard of a session's lanes, and what follows from silence (docs/operate/reliability.md, "How a lane ends"). A
// silent lane is given up only when another one was heard meanwhile; when none is, it is the peer that is silent, and
// nothing is given up.
//
// Pure functions of what lanes report.
#pragma once

#include <optional>
#include <vector>

#include "railweave/units.h"
#include "wire/wire.h"

namespace railweave::engine {

// What is known of one open lane.
struct LaneLiveness {
  wire::AckStatus ack_status;
  bool link_down = false;  // of our rail
};

struct SilenceVerdict {
  // silent while another one is heard, or on a dead link while another one is not silent
  std::vector<int> given_up;
  std::vector<int> asked;       // a frame should be sent there that is to be answered
  bool peer_is_silent = false;  // no lane is heard: other pairs of rails may be
  // for the peer timeout; for twice that if it probed, and no lane came of that yet
  bool peer_is_gone = false;
};

// No lane is heard for so long: the peer counts as silent. When a lane is silent the wire says.
inline constexpr Nanos kPeerSilenceMost = std::chrono::seconds(1);
// After a lane's silence began, and as long as answers take on that lane: what is heard of another lane then was sent
// since.
inline constexpr Nanos kHeardAfter = std::chrono::milliseconds(100);

// A peer that probed lives, and a lane may come of its probe.
inline constexpr Nanos kProbeGrace = std::chrono::seconds(3);

// `lanes` by place; none: no open lane there. `probed_at`: when the peer asked by a new connection last.
SilenceVerdict detect_dead_lanes(TimePoint now, const std::vector<std::optional<LaneLiveness>>& lanes,
                                 Nanos peer_timeout, TimePoint probed_at = TimePoint::min());

}  // namespace railweave::engine
