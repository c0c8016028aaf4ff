#include "info/rail_wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "info/text_table.h"

namespace railweave::info {

std::vector<RailWires> wires_of(const std::vector<Rail>& rails, const Config& config) {
  std::vector<RailWires> all;
  for (const Rail& rail : rails) all.push_back(engine::Wires::describe(rail, config));
  return all;
}

std::string why_unusable(const RailWires& wires, const Config& config) {
  const auto works = [&](const engine::WireOnRail& wire) {
    return wire.why_not.ok() && std::ranges::find(config.wires, wire.name) != config.wires.end();
  };
  if (std::ranges::any_of(wires, works)) return {};
  return fmt::format("carries nothing: no wire of RAILWEAVE_WIRES={} works here; add tcp",
                     fmt::join(config.wires, ","));
}

Status check_wires(const std::vector<RailWires>& wires, const Config& config) {
  for (const RailWires& one : wires)
    if (why_unusable(one, config).empty()) return {};
  if (wires.empty()) return {};
  return Status(Code::invalid_config, Scope::engine,
                fmt::format("no rail has a wire of RAILWEAVE_WIRES={}; add tcp", fmt::join(config.wires, ",")));
}

std::string wires_text(const std::vector<Rail>& rails, const std::vector<RailWires>& wires) {
  TextTable table({"RAIL", "WIRE", "USABLE", "WHY NOT"});
  for (std::size_t i = 0; i < rails.size(); ++i)
    for (const engine::WireOnRail& wire : wires[i]) {
      const bool usable = wire.why_not.ok();
      table.add({rails[i].name, wire.name, usable ? "yes" : "no", usable ? "-" : wire.why_not.message()});
    }
  return table.text();
}

nlohmann::ordered_json wires_json(const RailWires& wires) {
  auto all = nlohmann::ordered_json::array();
  for (const engine::WireOnRail& wire : wires) {
    const bool usable = wire.why_not.ok();
    nlohmann::ordered_json one = {{"name", wire.name}, {"usable", usable}, {"why_not", nullptr}};
    if (!usable) one["why_not"] = wire.why_not.message();
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace railweave::info
