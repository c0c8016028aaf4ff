// How much memory the lanes of a job would pin on this host, and whether the limit has room for them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "info/rail_wires.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "wire/port.h"

namespace railweave::info {

inline constexpr std::uint64_t kManyPeers = 512;

// The memory that lanes of one wire pin in a process whose peers have rails like this host's.
struct PinForecast {
  std::string wire;
  wire::PinnedBytes pinned;
  std::uint64_t rails = 0;           // of this host, that have the wire
  std::uint64_t lanes_per_peer = 0;  // on all of these rails

  std::uint64_t bytes(std::uint64_t peers) const;
  // Returns the number of peers for whose lanes the bound has room; kManyPeers: for so many at least.
  std::uint64_t peers_within_bound() const;
};

// Returns a forecast for each wire that pins memory and can be used on a rail. REQUIRES: one list for each rail.
std::vector<PinForecast> forecast_pins(const std::vector<Rail>& rails, const std::vector<RailWires>& wires,
                                       const Config& config);

// Empty: no wire pins memory.
std::string pins_text(const std::vector<PinForecast>& forecasts);
// [{"wire", "bytes_per_lane", "lanes_per_peer", "bytes_512_peers", "bound_bytes"}]; "bound_bytes": null without limit.
nlohmann::ordered_json pins_json(const std::vector<PinForecast>& forecasts);

}  // namespace railweave::info
