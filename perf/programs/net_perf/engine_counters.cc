#include "net_perf/engine_counters.h"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "engine/stats/stats_client.h"
#include "engine/stats/stats_socket.h"
#include "railweave/config.h"

namespace railweave::perf::net_perf {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(1);

constexpr std::uint64_t LaneStats::*kCounters[] = {
    &LaneStats::bytes_sent,  &LaneStats::bytes_received, &LaneStats::frames_sent, &LaneStats::frames_received,
    &LaneStats::write_calls, &LaneStats::read_calls,     &LaneStats::retransmits, &LaneStats::damaged_frames};

nlohmann::json counters_json(const LaneStats& lane) {
  return {{"bytes_sent", lane.bytes_sent},   {"bytes_received", lane.bytes_received},
          {"frames_sent", lane.frames_sent}, {"frames_received", lane.frames_received},
          {"write_calls", lane.write_calls}, {"read_calls", lane.read_calls},
          {"retransmits", lane.retransmits}, {"damaged_frames", lane.damaged_frames}};
}

}  // namespace

EngineCounters EngineCounters::operator-(const EngineCounters& earlier) const {
  EngineCounters result = *this;
  for (LaneStats& lane : result.lanes_) {
    for (const LaneStats& before : earlier.lanes_) {
      if (before.local_address != lane.local_address || before.remote_address != lane.remote_address) continue;
      for (const auto counter : kCounters) lane.*counter -= before.*counter;
    }
  }
  result.control_.frames -= earlier.control_.frames;
  result.control_.retransmitted -= earlier.control_.retransmitted;
  return result;
}

LaneStats EngineCounters::sum() const {
  LaneStats total;
  for (const LaneStats& lane : lanes_) {
    for (const auto counter : kCounters) total.*counter += lane.*counter;
  }
  return total;
}

nlohmann::json EngineCounters::to_json() const {
  nlohmann::json result = counters_json(sum());
  result["control_frames"] = control_.frames;
  result["control_frames_said_again"] = control_.retransmitted;
  result["lanes"] = nlohmann::json::array();
  for (const LaneStats& lane : lanes_) {
    nlohmann::json entry = counters_json(lane);
    entry["wire"] = lane.wire;
    entry["rail"] = lane.rail;
    entry["local_address"] = lane.local_address;
    entry["remote_address"] = lane.remote_address;
    entry["min_rtt_us"] = double(lane.min_rtt.count()) / 1e3;
    result["lanes"].push_back(std::move(entry));
  }
  return result;
}

nlohmann::json EngineCounters::per_message(std::uint64_t messages) const {
  const LaneStats total = sum();
  const double n = double(messages);
  return {{"frames", double(total.frames_sent + total.frames_received) / n},
          {"write_calls", double(total.write_calls) / n},
          {"read_calls", double(total.read_calls) / n}};
}

std::optional<EngineCounters> read_engine_counters() {
  auto config = Config::from_environment();
  if (!config.ok() || config->stats_dir.empty()) return std::nullopt;
  const pid_t self = ::getpid();
  std::vector<LaneStats> lanes;
  EngineCounters::Control control;
  bool answered = false;
  for (const auto& path : engine::stats_sockets(config->stats_dir)) {
    if (engine::pid_in_name(path) != self) continue;
    auto owner = engine::stats_owner(path);  // a process of another pid namespace may have the same pid
    if (!owner.ok() || *owner != self) continue;
    auto stats = engine::fetch_stats(path, kPatience);
    if (!stats.ok()) continue;
    answered = true;
    for (const auto& session : stats->sessions) {
      lanes.insert(lanes.end(), session.lanes.begin(), session.lanes.end());
      control.frames += session.control_frames;
      control.retransmitted += session.control_frames_retransmitted;
    }
  }
  if (!answered) return std::nullopt;
  return EngineCounters(std::move(lanes), control);
}

}  // namespace railweave::perf::net_perf
