#include "engine/health/lane_liveness.h"

#include <algorithm>

#include "wire/bootstrap/socket.h"

namespace railweave::engine {
namespace {

bool works(const LaneLiveness& lane) { return !lane.link_down && !lane.ack_status.silent_since; }

// Returns the time from which arrivals prove something. Packets under way at `since` arrive before that time.
TimePoint proof_begins(TimePoint since, const wire::AckStatus& of) { return since + std::max(kHeardAfter, of.usual); }

bool another_is_heard(const std::vector<std::optional<LaneLiveness>>& lanes, TimePoint from) {
  return std::ranges::any_of(
      lanes, [&](const auto& lane) { return lane && works(*lane) && lane->ack_status.heard_at >= from; });
}

// Returns the lanes to ask for an acknowledgement while another lane is late. The kernel retransmits a keepalive only
// after seconds, a frame sooner.
std::vector<int> lanes_to_ask(const std::vector<std::optional<LaneLiveness>>& lanes) {
  TimePoint proof = TimePoint::max();
  for (const auto& lane : lanes)
    if (lane && lane->ack_status.late_since)
      proof = std::min(proof, proof_begins(*lane->ack_status.late_since, lane->ack_status));
  std::vector<int> asked;
  for (std::size_t i = 0; i < lanes.size() && proof != TimePoint::max(); ++i) {
    if (!lanes[i] || !works(*lanes[i])) continue;
    const wire::AckStatus& h = lanes[i]->ack_status;
    if ((!h.owes && h.heard_at < proof) || (h.owes_keepalive && h.late_since)) asked.push_back(int(i));
  }
  return asked;
}

}  // namespace

SilenceVerdict detect_silent_lanes(TimePoint now, const std::vector<std::optional<LaneLiveness>>& lanes,
                                   Nanos peer_timeout, TimePoint probed_at) {
  const bool any_works = std::ranges::any_of(lanes, [](const auto& lane) { return lane && works(*lane); });
  SilenceVerdict verdict;
  TimePoint last_heard = TimePoint::min(), first_silent = TimePoint::max();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i]) continue;
    const wire::AckStatus& h = lanes[i]->ack_status;
    last_heard = std::max(last_heard, h.heard_at);
    if (h.silent_since) first_silent = std::min(first_silent, *h.silent_since);
    const bool silent_alone = h.silent_since && another_is_heard(lanes, proof_begins(*h.silent_since, h));
    if (silent_alone || (lanes[i]->link_down && any_works)) verdict.given_up.push_back(int(i));
  }
  verdict.asked = lanes_to_ask(lanes);
  if (first_silent == TimePoint::max() || last_heard == TimePoint::max()) return verdict;
  const Nanos unheard = now - std::max(last_heard, first_silent);
  verdict.peer_is_silent = verdict.given_up.empty() && unheard >= kPeerSilenceMost;
  // The window of a stopped peer may be shut, and our kernel may probe that window only once a minute. The next probe
  // decides.
  if (std::ranges::any_of(lanes, [](const auto& lane) { return lane && works(*lane) && lane->ack_status.asks_later; }))
    return verdict;
  // On idle lanes each end learns of a silence by its own keepalives, a tenth of the timeout apart. The dialler may
  // learn later, and its dial must still find the session.
  const bool idle = std::ranges::all_of(lanes, [](const auto& lane) {
    return !lane || !lane->ack_status.silent_since || lane->ack_status.owes_keepalive;
  });
  const Nanos patience = idle ? peer_timeout + 2 * wire::keepalive_interval(peer_timeout) : peer_timeout;
  // A peer probe is a small packet. On a path that loses large packets probes arrive for ever, hence the second limit.
  if (probed_at >= now - kProbeGrace && unheard < 2 * peer_timeout) return verdict;
  // An end that only received sends its first keepalive late, so its silence begins late. The time since the last
  // arrival therefore counts, too.
  verdict.peer_is_gone = verdict.peer_is_silent &&
                         (unheard >= patience || now - last_heard >= patience + wire::keepalive_interval(peer_timeout));
  return verdict;
}

}  // namespace railweave::engine
