#include "info/rail_wires.h"

#include <nlohmann/json.hpp>

#include "info/text_table.h"

namespace railweave::info {

std::vector<RailWires> wires_of(const std::vector<Rail>& rails, const Config& config) {
  std::vector<RailWires> all;
  for (const Rail& rail : rails) all.push_back(engine::Wires::describe(rail, config));
  return all;
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
