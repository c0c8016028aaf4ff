#include "base/address_text.h"

#include <gtest/gtest.h>

namespace railweave {
namespace {

Address link_local(std::uint32_t scope) {
  Address address{.family = Address::Family::v6, .prefix_bits = 64, .scope_id = scope};
  address.bytes[0] = 0xfe;
  address.bytes[1] = 0x80;
  address.bytes[15] = 1;
  return address;
}

TEST(AddressText, to_string__has_no_prefix) {
  EXPECT_EQ(to_string(Address{.bytes = {192, 0, 2, 1}, .prefix_bits = 24}), "192.0.2.1");
  EXPECT_EQ(to_string(link_local(0)), "fe80::1");
}

TEST(AddressText, to_string__names_the_scope_or_gives_its_number) {
  EXPECT_EQ(to_string(link_local(1)), "fe80::1%lo");
  EXPECT_EQ(to_string(link_local(4'000'000)), "fe80::1%4000000");
  EXPECT_EQ(to_string(without_scope(link_local(1))), "fe80::1");
}

}  // namespace
}  // namespace railweave
