#include "discovery/devices.h"

#include <gtest/gtest.h>
#include <set>

namespace railweave::discovery {
namespace {

Rail rail(const std::string& name, const std::string& port, double megabits) {
  Rail one;
  one.name = name;
  one.physical_function = port;
  one.pci_path = "/sys/devices/" + name;
  one.speed = Rate::from_megabits(megabits);
  return one;
}

TEST(Devices, the_aggregate_counts_a_port_once) {
  const std::vector<Rail> rails{rail("v0", "pf0", 100e3), rail("v1", "pf0", 50e3), rail("v2", "pf1", 100e3)};
  const std::vector<Device> devices = make_devices(rails, DeviceModel::aggregate);
  ASSERT_EQ(1u, devices.size());
  EXPECT_EQ("rw-v0+v1+v2", devices[0].name);
  EXPECT_DOUBLE_EQ(200e3, devices[0].speed.megabits());
  EXPECT_EQ((std::vector<int>{0, 1, 2}), devices[0].rails);
  EXPECT_EQ("/sys/devices/v0", devices[0].pci_path);
}

TEST(Devices, one_per_rail_and_one_guid_per_port) {
  const std::vector<Rail> rails{rail("v0", "pf0", 100e3), rail("v1", "pf0", 100e3), rail("v2", "pf1", 25e3)};
  const std::vector<Device> devices = make_devices(rails, DeviceModel::rails);
  ASSERT_EQ(3u, devices.size());
  EXPECT_EQ("v1", devices[1].name);
  EXPECT_EQ(std::vector<int>{1}, devices[1].rails);
  EXPECT_DOUBLE_EQ(25e3, devices[2].speed.megabits());
  EXPECT_EQ(devices[0].guid, devices[1].guid);
  EXPECT_NE(devices[0].guid, devices[2].guid);
  EXPECT_NE(0u, devices[0].guid);
}

TEST(Devices, names_of_many_rails_are_bounded) {
  std::vector<Rail> rails;
  for (int i = 0; i < 16; ++i)
    rails.push_back(rail("enp194s0f" + std::to_string(i) + "np0", "p" + std::to_string(i), 1e3));
  const std::string name = make_devices(rails, DeviceModel::aggregate)[0].name;
  EXPECT_EQ("rw-enp194s0f0np0+enp194s0f1np0+14more", name);
  EXPECT_DOUBLE_EQ(16e3, make_devices(rails, DeviceModel::aggregate)[0].speed.megabits());
  rails.resize(1);
  EXPECT_EQ("rw-enp194s0f0np0", make_devices(rails, DeviceModel::aggregate)[0].name);
}

}  // namespace
}  // namespace railweave::discovery
