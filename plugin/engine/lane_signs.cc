#include "engine/lane_signs.h"

#include <algorithm>

namespace railweave::engine {

LaneSigns::Verdict LaneSigns::look(TimePoint now, const std::vector<std::optional<LaneSign>>& lanes) {
  known_.resize(std::max(known_.size(), lanes.size()));
  TimePoint last_heard = TimePoint::min();
  TimePoint first_silent = TimePoint::max();
  bool any_works = false;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i]) continue;
    Known& known = known_[i];
    if (known.generation != lanes[i]->generation) known = {lanes[i]->generation, 0, now};  // its handshake was heard
    if (known.heard != lanes[i]->heard) known.heard = lanes[i]->heard, known.heard_at = now;
    last_heard = std::max(last_heard, known.heard_at);
    any_works = any_works || (!lanes[i]->link_down && !lanes[i]->silent_since);
    if (lanes[i]->silent_since) first_silent = std::min(first_silent, *lanes[i]->silent_since);
  }
  Verdict verdict;
  for (std::size_t i = 0; i < lanes.size() && any_works; ++i)
    if (lanes[i] && lanes[i]->link_down) verdict.given_up.push_back(int(i));
  if (first_silent == TimePoint::max() || now - first_silent < kAskAfter) return verdict;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i] || (any_works && lanes[i]->link_down)) continue;
    // What was under way when the silence began may have been heard after it.
    const std::optional<TimePoint> since = lanes[i]->silent_since;
    if (since && now - *since >= kSilenceMost && last_heard >= *since + kAskAfter) verdict.given_up.push_back(int(i));
    if (!since && !lanes[i]->owed && known_[i].heard_at < first_silent + kAskAfter) verdict.asked.push_back(int(i));
  }
  const Nanos unheard = now - std::max(last_heard, first_silent);
  verdict.peer_is_silent = verdict.given_up.empty() && unheard >= kSilenceMost;
  verdict.peer_is_gone = verdict.peer_is_silent && unheard >= peer_timeout_;
  return verdict;
}

}  // namespace railweave::engine
