#include "info/pinned_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/reconcile/lane_plan.h"
#include "info/text_table.h"

namespace railweave::info {
namespace {

using wire::PinnedBytes;

// Returns the lanes between this rail and one of the same speed.
std::uint64_t lanes_of(const Rail& rail, const Config& config) {
  engine::PeerRail like_ours;
  like_ours.speed_mbps = std::uint32_t(rail.speed.megabits());
  return std::uint64_t(engine::lanes_per_pair(config.lanes_per_rail, rail, like_ours));
}

void count(std::vector<PinForecast>& forecasts, const engine::WireOnRail& wire, std::uint64_t lanes) {
  auto known = std::ranges::find(forecasts, wire.name, &PinForecast::wire);
  if (known == forecasts.end()) known = forecasts.insert(known, {wire.name, wire.pinned});
  ++known->rails;
  known->lanes_per_peer += lanes;
}

std::string bound_text(const PinForecast& forecast) {
  if (forecast.pinned.bound == PinnedBytes::kUnbounded) return "no limit";
  const std::uint64_t peers = forecast.peers_within_bound();
  return fmt::format("{}, room for {} peer{}", size_text(double(forecast.pinned.bound)),
                     peers < kManyPeers ? std::to_string(peers) : "all 512", peers == 1 ? "" : "s");
}

}  // namespace

std::uint64_t PinForecast::bytes(std::uint64_t peers) const {
  return peers * lanes_per_peer * pinned.per_lane + rails * pinned.per_rail;
}

std::uint64_t PinForecast::peers_within_bound() const {
  std::uint64_t peers = 0;
  while (peers < kManyPeers && bytes(peers + 1) <= pinned.bound) ++peers;
  return peers;
}

std::vector<PinForecast> forecast_pins(const std::vector<Rail>& rails, const std::vector<RailWires>& wires,
                                       const Config& config) {
  std::vector<PinForecast> forecasts;
  for (std::size_t i = 0; i < rails.size(); ++i)
    for (const engine::WireOnRail& wire : wires[i])
      if (wire.why_not.ok() && wire.pinned.per_lane > 0) count(forecasts, wire, lanes_of(rails[i], config));
  return forecasts;
}

std::string pins_text(const std::vector<PinForecast>& forecasts) {
  if (forecasts.empty()) return "";
  TextTable table({"WIRE", ">PER LANE", ">LANES PER PEER", ">8 PEERS", ">512 PEERS", "BOUND (HALF OF RLIMIT_MEMLOCK)"});
  for (const PinForecast& forecast : forecasts)
    table.add({forecast.wire, size_text(double(forecast.pinned.per_lane)), std::to_string(forecast.lanes_per_peer),
               size_text(double(forecast.bytes(8))), size_text(double(forecast.bytes(kManyPeers))),
               bound_text(forecast)});
  const bool is_bounded =
      std::ranges::any_of(forecasts, [](const auto& f) { return f.pinned.bound != PinnedBytes::kUnbounded; });
  return table.text() + (is_bounded ? "  Lanes beyond the bound go by the next wire of RAILWEAVE_WIRES.\n" : "");
}

nlohmann::ordered_json pins_json(const std::vector<PinForecast>& forecasts) {
  auto all = nlohmann::ordered_json::array();
  for (const PinForecast& forecast : forecasts) {
    nlohmann::ordered_json one = {{"wire", forecast.wire},
                                  {"bytes_per_lane", forecast.pinned.per_lane},
                                  {"lanes_per_peer", forecast.lanes_per_peer},
                                  {"bytes_512_peers", forecast.bytes(kManyPeers)},
                                  {"bound_bytes", nullptr}};
    if (forecast.pinned.bound != PinnedBytes::kUnbounded) one["bound_bytes"] = forecast.pinned.bound;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace railweave::info
