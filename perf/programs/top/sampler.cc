#include "top/sampler.h"

#include <algorithm>

#include "base/clock.h"
#include "engine/stats/stats_client.h"
#include "info/process_report.h"

namespace railweave::top {
namespace {

constexpr Nanos kPatience = std::chrono::milliseconds(200);

}  // namespace

EngineView Sampler::view_of(const info::RunningEngine& engine) {
  EngineView view;
  view.engine = engine;
  Result<EngineStats> stats = engine::fetch_stats(engine.path, kPatience);
  if (!stats.ok()) {
    view.no_answer = stats.status().message();
    return view;
  }
  const TimePoint at = now();
  const auto past = past_.find(engine.path);
  const bool first = past == past_.end();
  view.since = first ? Nanos(0) : at - past->second.at;
  view.rails = rail_rates(first ? *stats : past->second.stats, *stats, view.since);
  view.sessions = stats->sessions.size();
  for (const SessionStats& session : stats->sessions) view.pending += session.sends_pending + session.recvs_pending;
  view.oldest_request_age = info::oldest_request_age(*stats);
  present_[engine.path] = {std::move(*stats), at};
  return view;
}

std::vector<EngineView> Sampler::sample() {
  present_.clear();
  std::vector<EngineView> views;
  for (const info::RunningEngine& engine : info::running_engines(dir_)) {
    if (pid_ == 0 || engine.pid == pid_) views.push_back(view_of(engine));
  }
  past_.swap(present_);
  return views;
}

}  // namespace railweave::top
