#include "info/host_report.h"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/address_text.h"
#include "base/config_section.h"
#include "base/error.h"
#include "collectives/config/config_section.h"
#include "collectives/schedule/algorithm_choice.h"
#include "collectives/scheduler/window.h"
#include "discovery/devices.h"
#include "discovery/host_view.h"
#include "engine/api/host_engine.h"
#include "info/pinned_memory.h"
#include "info/text_table.h"

namespace railweave::info {
namespace {

using Json = nlohmann::ordered_json;
using discovery::Considered;

// Avoids Engine::start(), which would discover rails, and log about them, once more.
Status try_engine(Config config, const std::vector<Rail>& rails, const std::vector<Device>& devices) {
  config.ports = {};
  config.stats_dir.clear();  // keeps this process off the list of processes with an engine
  return std::make_shared<engine::HostEngine>(config, rails, devices)->start();
}

Status check(const HostReport& report) {
  RW_TRY(report.survey.status);
  RW_TRY(try_engine(report.config, report.survey.found.taken, report.devices));
  RW_TRY(check_wires(report.wires, report.config));
  const auto& choice = report.config.of<collectives::CollectivesConfig>();
  RW_TRY(collectives::check_algorithm_choice(choice.algorithms));
  return collectives::parse_policy(choice.schedule).status();
}

std::string address_text(const Address& address) {
  return fmt::format("{}/{}", to_string(without_scope(address)), address.prefix_bits);
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// Returns the last component, which names the device: "0000:5e:00.0". A virtual interface's is its own name.
std::string short_path(const std::string& path) { return or_dash(path.substr(path.rfind('/') + 1)); }

std::string interfaces_text(const std::vector<Considered>& considered) {
  TextTable table({"INTERFACE", "TAKEN", "WHY"});
  for (const Considered& one : considered) table.add({one.name, one.taken ? "yes" : "no", one.reason});
  return table.text();
}

std::string rails_text(const std::vector<Rail>& rails) {
  TextTable table({"RAIL", ">SPEED", ">MTU", ">NUMA", "PCI", "PORT", "ADDRESSES"});
  for (const Rail& rail : rails) {
    std::string addresses;
    for (const Address& address : rail.addresses) addresses += (addresses.empty() ? "" : " ") + address_text(address);
    const std::string speed = speed_text(rail.speed.megabits()) + (rail.speed_known ? "" : " (assumed)");
    table.add({rail.name, speed, std::to_string(rail.mtu_bytes),
               rail.numa_node < 0 ? "-" : std::to_string(rail.numa_node), short_path(rail.pci_path),
               short_path(rail.physical_function), addresses});
  }
  return table.text();
}

std::string devices_text(const HostReport& report) {
  TextTable table({">#", "DEVICE", ">SPEED", "GUID", "RAILS"});
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const Device& device = report.devices[i];
    std::string rails;
    for (const int rail : device.rails) {
      rails += (rails.empty() ? "" : " ") + report.survey.found.taken[static_cast<std::size_t>(rail)].name;
    }
    table.add({std::to_string(i), device.name, speed_text(device.speed.megabits()), fmt::format("{:016x}", device.guid),
               rails});
  }
  return table.text();
}

std::string pins_section(const HostReport& report) {
  const std::string text = pins_text(forecast_pins(report.survey.found.taken, report.wires, report.config));
  return text.empty() ? "" : "\nPinned memory, where peers have rails like these\n" + text;
}

std::string configuration_text(const Config& config) {
  const std::vector<std::string> overrides = config.overrides();
  if (overrides.empty()) return "  every setting has its default\n";
  std::string text;
  for (const std::string& line : overrides) text += "  " + printable(line) + "\n";
  return text;
}

Json rail_json(const Rail& rail, const RailCondition& condition, const RailWires& wires) {
  Json addresses = Json::array();
  for (const Address& address : rail.addresses) addresses.push_back(address_text(address));
  Json json = {{"name", rail.name},
               {"ifindex", rail.ifindex},
               {"addresses", std::move(addresses)},
               {"speed_mbit_per_s", rail.speed.megabits()},
               {"speed_known", rail.speed_known},
               {"mtu_bytes", rail.mtu_bytes},
               {"numa_node", rail.numa_node},
               {"pci_path", rail.pci_path},
               {"physical_function", rail.physical_function},
               {"loopback", rail.loopback}};
  json["wires"] = wires_json(wires);
  json.update(condition_json(condition));
  return json;
}

Json configuration_json(const Config& config) {
  Json settings = Json::object();
  for (const Setting* setting : config_settings()) settings[std::string(setting->name)] = value_text(*setting, config);
  return settings;
}

}  // namespace

HostReport survey_host(const Config& config) {
  const auto host = discovery::this_host();
  HostReport report{config, discovery::survey_rails(config, *host), {}, {}, {}, {}, {}};
  const std::vector<Rail>& rails = report.survey.found.taken;
  if (!rails.empty()) report.devices = discovery::make_devices(rails, config.devices);
  report.conditions = conditions_of(rails, *host);
  report.wires = wires_of(rails, config);
  for (std::size_t i = 0; i < rails.size(); ++i)
    if (std::string why = why_unusable(report.wires[i], config); !why.empty())
      report.conditions[i].verdict = std::move(why);
  report.tcp_mtu_probing = discovery::tcp_mtu_probing(*host);
  report.status = check(report);
  return report;
}

std::string host_text(const HostReport& report) {
  std::string text = "Interfaces\n" + interfaces_text(report.survey.found.considered);
  if (!report.survey.found.taken.empty()) {
    const std::vector<Rail>& rails = report.survey.found.taken;
    text += "\nRails\n" + rails_text(rails) + "\nDevices\n" + devices_text(report) +
            "\nWires (RAILWEAVE_WIRES chooses)\n" + wires_text(rails, report.wires) + pins_section(report) +
            "\nKernel settings and routes\n" + conditions_text(rails, report.conditions) +
            "  tcp_mtu_probing: " + setting_text(report.tcp_mtu_probing) + "\n\nVerdicts\n" +
            verdicts_text(rails, report.conditions);
  }
  return text + "\nConfiguration\n" + configuration_text(report.config);
}

Json host_json(const HostReport& report) {
  Json interfaces = Json::array(), rails = Json::array(), devices = Json::array();
  for (const Considered& one : report.survey.found.considered) {
    interfaces.push_back({{"name", one.name}, {"taken", one.taken}, {"reason", one.reason}});
  }
  for (std::size_t i = 0; i < report.survey.found.taken.size(); ++i)
    rails.push_back(rail_json(report.survey.found.taken[i], report.conditions[i], report.wires[i]));
  for (const Device& device : report.devices) {
    devices.push_back({{"name", device.name},
                       {"rails", device.rails},
                       {"speed_mbit_per_s", device.speed.megabits()},
                       {"pci_path", device.pci_path},
                       {"guid", fmt::format("{:016x}", device.guid)}});
  }
  return {{"interfaces", std::move(interfaces)},
          {"rails", std::move(rails)},
          {"devices", std::move(devices)},
          {"pinned_memory", pins_json(forecast_pins(report.survey.found.taken, report.wires, report.config))},
          {"tcp_mtu_probing", setting_json(report.tcp_mtu_probing)},
          {"configuration", configuration_json(report.config)},
          {"error", report.status.ok() ? Json(nullptr) : Json(report.status.message())}};
}

}  // namespace railweave::info
