// this_host(): the links and addresses of the host that runs this test.
#include <gtest/gtest.h>
#include <net/if.h>
#include <algorithm>

#include "discovery/host_view.h"

namespace railweave::discovery {
namespace {

TEST(KernelHost, knows_what_the_c_library_knows) {
  const auto host = this_host();
  const auto links = host->links();
  ASSERT_TRUE(links.ok()) << links.status().message();
  struct if_nameindex* const names = if_nameindex();
  ASSERT_NE(nullptr, names);
  std::size_t count = 0;
  for (const struct if_nameindex* one = names; one->if_index != 0; ++one, ++count) {
    const bool found = std::any_of(links.value().begin(), links.value().end(), [&](const LinkFacts& link) {
      return link.name == one->if_name && link.ifindex == static_cast<int>(one->if_index);
    });
    EXPECT_TRUE(found) << one->if_name;
  }
  if_freenameindex(names);
  EXPECT_EQ(count, links.value().size());
}

TEST(KernelHost, sees_loopback) {
  const auto host = this_host();
  const auto links = host->links();
  const auto addresses = host->addresses();
  ASSERT_TRUE(links.ok() && addresses.ok());
  for (const LinkFacts& link : links.value()) {
    if (!link.loopback || !link.up) continue;
    EXPECT_EQ("lo", link.name);
    EXPECT_TRUE(link.running);
    EXPECT_GE(link.mtu_bytes, 1500);
    Address localhost;
    localhost.bytes = {127, 0, 0, 1};
    localhost.prefix_bits = 8;
    EXPECT_TRUE(std::any_of(addresses.value().begin(), addresses.value().end(),
                            [&](const AddressFacts& facts) { return facts.address == localhost; }));
  }
}

}  // namespace
}  // namespace railweave::discovery
