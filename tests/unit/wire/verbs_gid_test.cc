// The GID of a rail, its table in sysfs, and the address of a channel.
#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/gid.h"

#include <gtest/gtest.h>
#include <net/if.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "wire/verbs/channel_address.h"
#include "wire/verbs/gid_table.h"

namespace railweave::wire::verbs {
namespace {

Address v4_address(std::uint8_t last) {
  Address address;
  address.bytes = {10, 0, 0, last};
  return address;
}

Address v6_address(std::uint8_t first, std::uint8_t second, std::uint8_t last) {
  Address address;
  address.family = Address::Family::v6;
  address.bytes = {first, second};
  address.bytes[15] = last;
  return address;
}

RailIdentity rail_with(std::vector<Address> addresses) { return {"eth0", 3, std::move(addresses)}; }

TEST(VerbsGid, is_the_entry_of_the_rails_address_and_interface) {
  const Gid wanted = gid_of(v4_address(1));
  const std::vector<GidEntry> table{{gid_of(v4_address(2)), 1, 0, true, 3},
                                    {wanted, 1, 1, false, 3},
                                    {wanted, 1, 2, true, 4},
                                    {wanted, 2, 3, true, 3}};
  const auto found = find_gid(table, rail_with({v4_address(1)}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index, 3u) << "not of type RoCE v1, and not of another interface";
  EXPECT_EQ(found->port, 2u);
  EXPECT_FALSE(find_gid(std::span(table).first(3), rail_with({v4_address(1)})));
}

TEST(VerbsGid, is_of_the_best_address_that_has_one) {
  const std::vector<GidEntry> table{{gid_of(v4_address(2)), 1, 0, true, 3},
                                    {gid_of(v6_address(0x20, 0x01, 5)), 1, 1, true, 3}};
  EXPECT_EQ(find_gid(table, rail_with({v4_address(9), v6_address(0x20, 0x01, 5), v4_address(2)}))->index, 1u);
}

TEST(VerbsGid, is_never_link_local) {
  const Address local = v6_address(0xfe, 0x80, 1);
  const std::vector<GidEntry> table{{gid_of(local), 1, 0, true, 3}};
  EXPECT_FALSE(find_gid(table, rail_with({local})));
  EXPECT_TRUE(is_link_local(gid_of(v6_address(0xfe, 0xbf, 1))));
  EXPECT_FALSE(is_link_local(gid_of(v6_address(0xfe, 0xc0, 1))));
}

TEST(VerbsGid, is_found_again_at_another_index) {
  const GidEntry chosen{gid_of(v4_address(1)), 1, 5, true, 3};
  const std::vector<GidEntry> table{{gid_of(v4_address(2)), 1, 5, true, 3}, {gid_of(v4_address(1)), 1, 7, true, 3}};
  EXPECT_EQ(find_again(table, chosen)->index, 7u);
  EXPECT_FALSE(find_again(std::span(table).first(1), chosen));
}

TEST(VerbsGid, what_was_found_instead_is_listed) {
  const std::vector<GidEntry> table{{gid_of(v4_address(2)), 1, 0, true, 3},
                                    {gid_of(v6_address(0xfe, 0x80, 1)), 1, 1, false, 4}};
  EXPECT_EQ(describe_missing(table, rail_with({v4_address(1)}), "mlx5_0"),
            "no GID for 10.0.0.1 on eth0 (interface 3); mlx5_0 has: port 1 index 0 10.0.0.2 RoCE v2 interface 3, "
            "port 1 index 1 fe80::1 not RoCE v2 interface 4");
  EXPECT_EQ(describe_missing({}, rail_with({v4_address(1)}), "mlx5_0"),
            "no GID for 10.0.0.1 on eth0 (interface 3); mlx5_0 has: none");
}

// A folder like the kernel's, for one port.
class SysfsGidTable : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "verbs_gids_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void add(const char* file, const std::string& text) {
    const auto path = std::filesystem::path(root) / "dev0/ports/1" / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::string root;
};

TEST_F(SysfsGidTable, has_the_entries_that_can_be_read) {
  add("gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001\n");
  add("gid_attrs/types/0", "IB/RoCE v1\n");
  add("gid_attrs/ndevs/0", "lo\n");
  add("gids/10", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
  add("gid_attrs/types/10", "RoCE v2\n");
  add("gid_attrs/ndevs/10", "lo\n");
  add("gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n");  // an empty slot: the kernel gives it no type
  add("gid_attrs/ndevs/2", "");
  add("gids/3", "no GID\n");
  add("gid_attrs/types/3", "RoCE v2\n");
  add("gid_attrs/ndevs/3", "lo\n");
  const auto table = read_gid_table_of_sysfs(root, "dev0");
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].index, 0u);
  EXPECT_FALSE(table[0].is_roce_v2);
  EXPECT_EQ(table[1].index, 10u);
  EXPECT_TRUE(table[1].is_roce_v2);
  EXPECT_EQ(table[1].port, 1u);
  EXPECT_EQ(table[1].gid, gid_of(v4_address(1)));
  EXPECT_EQ(table[1].ifindex, int(::if_nametoindex("lo")));
}

TEST_F(SysfsGidTable, is_read_where_the_library_is_too_old) {
  add("gids/0", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
  add("gid_attrs/types/0", "RoCE v2\n");
  add("gid_attrs/ndevs/0", "lo\n");
  EXPECT_EQ(read_gid_table(Api{}, nullptr, root, "dev0").size(), 1u);
  EXPECT_TRUE(read_gid_table(Api{}, nullptr, root, "dev1").empty());
}

ChannelAddress some_address() { return {5, 0xabcdef, 0x123456, gid_of(v4_address(1)), 0x0102030405060708}; }

std::string decode_error(std::vector<std::byte> bytes) {
  const auto decoded = decode_address(bytes);
  EXPECT_EQ(decoded.status().code(), Code::remote);
  return decoded.status().message();
}

TEST(VerbsChannelAddress, arrives_as_it_was_sent) {
  const auto bytes = encode(some_address());
  ASSERT_EQ(bytes.size(), kChannelAddressBytes);
  EXPECT_EQ(bytes[0], std::byte{1});
  EXPECT_EQ(bytes[2], std::byte{0xef}) << "little endian";
  auto decoded = decode_address(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, some_address());
}

TEST(VerbsChannelAddress, a_defect_is_refused_by_name) {
  const std::string start = "malformed address of an RDMA queue pair: ";
  auto bytes = encode(some_address());
  bytes.pop_back();
  EXPECT_EQ(decode_error(bytes), start + "33 bytes, expected 34");
  EXPECT_EQ(decode_error({}), start + "0 bytes, expected 34");
  bytes = encode(some_address());
  bytes[0] = std::byte{2};
  EXPECT_EQ(decode_error(bytes), start + "version 2, expected 1 to 1");
  ChannelAddress bad = some_address();
  bad.mtu = 6;
  EXPECT_EQ(decode_error(encode(bad)), start + "path MTU 6, expected 1 to 5");
  bad = some_address();
  bad.qpn = 0;
  EXPECT_EQ(decode_error(encode(bad)), start + "queue pair number 0, expected 1 to 16777215");
  bad.qpn = 1u << 24;
  EXPECT_EQ(decode_error(encode(bad)), start + "queue pair number 16777216, expected 1 to 16777215");
  bad = some_address();
  bad.psn = 1u << 24;
  EXPECT_EQ(decode_error(encode(bad)), start + "packet sequence number 16777216, expected 0 to 16777215");
  bad = some_address();
  bad.gid = {};
  EXPECT_EQ(decode_error(encode(bad)), start + "no GID");
}

}  // namespace
}  // namespace railweave::wire::verbs
#endif
