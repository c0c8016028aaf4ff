// getProperties must fill every member: the test passes memory full of 0xAA.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/nccl/describe.h"
#include "tests/nccl/versions.h"

namespace railweave::nccl_test {
namespace {

class PropertiesOf : public testing::TestWithParam<int> {};

void expect_sane(const Properties& p, int dev, int version) {
  EXPECT_FALSE(p.name.empty());
  EXPECT_EQ(p.ptr_support, abi::kPtrHost);
  EXPECT_GT(p.speed_mbps, 0);
  EXPECT_EQ(p.port, 0);
  EXPECT_GE(p.latency_us, 1);
  EXPECT_LE(p.latency_us, 1000);
  EXPECT_EQ(p.latency_us, std::floor(p.latency_us)) << "NCCL keeps whole microseconds";
  EXPECT_GE(p.max_comms, 65536);
  EXPECT_EQ(p.max_recvs, 1);
  EXPECT_EQ(p.reg_is_global, 0);
  EXPECT_EQ(p.force_flush, 0);
  EXPECT_EQ(p.net_device_type, abi::kNetDeviceHost);
  EXPECT_EQ(p.net_device_version, 0);
  EXPECT_GT(p.max_p2p_bytes, 0u);
  EXPECT_LE(p.max_p2p_bytes, abi::kMaxMessageBytes);
  EXPECT_EQ(p.max_coll_bytes, p.max_p2p_bytes);
  EXPECT_EQ(p.max_multi_request, 1);
  EXPECT_EQ(p.rail_id, -1);
  EXPECT_EQ(p.plane_id, -1);
  EXPECT_EQ(p.vdevices, 1);
  if (version < 9) return;
  std::vector<int> members(version == 12 ? 8 : 4, 0);
  members[0] = dev;
  EXPECT_EQ(p.vdevice_members, members);
}

TEST_P(PropertiesOf, fill_every_member) {
  for (const char* model : {"RAILWEAVE_DEVICES=aggregate", "RAILWEAVE_DEVICES=rails"}) {
    const Description description = describe_plugin(GetParam(), {model});
    ASSERT_EQ(description.init_result, abi::kSuccess) << (description.warnings.empty() ? "" : description.warnings[0]);
    ASSERT_GE(description.devices, 1);
    std::set<std::string> names;
    std::set<std::uint64_t> guids;
    for (int dev = 0; dev < description.devices; ++dev) {
      const Properties& p = description.properties[std::size_t(dev)];
      expect_sane(p, dev, GetParam());
      EXPECT_TRUE(names.insert(p.name).second) << p.name;
      EXPECT_TRUE(guids.insert(p.guid).second) << p.guid;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, PropertiesOf, all_versions(), version_name);

TEST(Banner, one_line_names_the_rails_and_overrides_are_logged_once) {
  const Description d = describe_plugin(11, {"RAILWEAVE_EAGER_LIMIT=8192"});
  ASSERT_EQ(d.init_result, abi::kSuccess);
  int banners = 0;
  for (const std::string& line : d.infos) banners += line.find("Railweave : rails lo (") != std::string::npos;
  EXPECT_EQ(banners, 1) << testing::PrintToString(d.infos);
  int told = 0;
  for (const std::string& line : d.overrides) told += line.find("RAILWEAVE_EAGER_LIMIT=8KiB") != std::string::npos;
  EXPECT_EQ(told, 1) << testing::PrintToString(d.overrides);
}

}  // namespace
}  // namespace railweave::nccl_test
