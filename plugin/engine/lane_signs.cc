#include "engine/lane_signs.h"

#include <algorithm>

#include "wire/tcp/socket.h"

namespace railweave::engine {
namespace {

bool works(const LaneSign& lane) { return !lane.link_down && !lane.hearing.silent_since; }

// What was under way when a silence began may have been heard after it.
bool another_is_heard(const std::vector<std::optional<LaneSign>>& lanes, TimePoint since) {
  return std::ranges::any_of(lanes, [&](const auto& lane) { return lane && works(*lane) && lane->hearing.heard_at >= since + kAskAfter; });
}

}  // namespace

SilenceVerdict judge_silence(TimePoint now, const std::vector<std::optional<LaneSign>>& lanes, Nanos peer_timeout) {
  const bool any_works = std::ranges::any_of(lanes, [](const auto& lane) { return lane && works(*lane); });
  SilenceVerdict verdict;
  TimePoint last_heard = TimePoint::min(), first_silent = TimePoint::max();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i]) continue;
    const wire::Hearing& h = lanes[i]->hearing;
    last_heard = std::max(last_heard, h.heard_at);
    if (h.silent_since) first_silent = std::min(first_silent, *h.silent_since);
    const bool too_long = h.silent_since && now - *h.silent_since >= kSilenceMost && another_is_heard(lanes, *h.silent_since);
    if (too_long || (lanes[i]->link_down && any_works)) verdict.given_up.push_back(int(i));
  }
  if (first_silent == TimePoint::max() || now - first_silent < kAskAfter) return verdict;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i] && works(*lanes[i]) && !lanes[i]->hearing.owes && lanes[i]->hearing.heard_at < first_silent + kAskAfter)
      verdict.asked.push_back(int(i));
  if (last_heard == TimePoint::max()) return verdict;
  const Nanos unheard = now - std::max(last_heard, first_silent);
  verdict.peer_is_silent = verdict.given_up.empty() && unheard >= kSilenceMost;
  // A stopped peer's window may be shut for a minute between two questions of our kernel's: the next one tells.
  if (std::ranges::any_of(lanes, [](const auto& lane) { return lane && works(*lane) && lane->hearing.asks_later; })) return verdict;
  // Somebody who only received asks late, and nobody answers since the last keepalive.
  verdict.peer_is_gone = verdict.peer_is_silent && (unheard >= peer_timeout || now - last_heard >= peer_timeout + wire::keepalive_interval(peer_timeout));
  return verdict;
}

}  // namespace railweave::engine
