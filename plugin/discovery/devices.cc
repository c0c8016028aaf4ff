#include "discovery/devices.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace railweave::discovery {
namespace {

constexpr std::size_t kNameBytesMax = 48;

// FNV-1a, 64 bit.
std::uint64_t hash(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325u) {
  for (const char c : text) seed = (seed ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
  return seed;
}

std::string aggregate_name(const std::vector<Rail>& rails) {
  std::string name = "rw-";
  for (std::size_t i = 0; i < rails.size(); ++i) {
    const std::size_t more = rails.size() - i;
    if (i > 0 && more > 1 && name.size() + rails[i].name.size() + sizeof("+99more") > kNameBytesMax) {
      return name + "+" + std::to_string(more) + "more";
    }
    name += (i ? "+" : "") + rails[i].name;
  }
  return name;
}

Rate port_speeds(const std::vector<Rail>& rails) {
  std::vector<std::pair<std::string_view, Rate>> ports;
  for (const Rail& rail : rails) {
    const auto known = std::find_if(ports.begin(), ports.end(),
                                    [&](const auto& port) { return port.first == rail.physical_function; });
    if (known == ports.end())
      ports.emplace_back(rail.physical_function, rail.speed);
    else
      known->second = std::max(known->second, rail.speed);
  }
  Rate sum;
  for (const auto& port : ports) sum.bytes_per_s += port.second.bytes_per_s;
  return sum;
}

}  // namespace

std::vector<Device> make_devices(const std::vector<Rail>& rails, DeviceModel model) {
  std::vector<Device> devices;
  if (model == DeviceModel::aggregate) {
    Device all;
    all.name = aggregate_name(rails);
    all.speed = port_speeds(rails);
    all.pci_path = rails.front().pci_path;
    all.guid = hash("railweave");
    for (std::size_t i = 0; i < rails.size(); ++i) {
      all.rails.push_back(static_cast<int>(i));
      all.guid = hash(rails[i].physical_function, all.guid);
    }
    devices.push_back(std::move(all));
    return devices;
  }
  for (std::size_t i = 0; i < rails.size(); ++i) {
    const Rail& rail = rails[i];
    devices.push_back({rail.name, {static_cast<int>(i)}, rail.speed, rail.pci_path, hash(rail.physical_function)});
  }
  return devices;
}

}  // namespace railweave::discovery
