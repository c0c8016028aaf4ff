#include "engine/rails/rail_listeners.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace railweave::engine {
namespace {

Address local(int last) {
  return {.family = Address::Family::v4, .bytes = {127, 0, 0, std::uint8_t(last)}, .prefix_bits = 8};
}

Rail rail(int last) {
  Rail one;
  one.name = "rail" + std::to_string(last);
  one.addresses = {local(last)};
  return one;
}

// RailListeners that do not serve: the kernel accepts connections, or refuses them.
class RailListenersTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(rail_listeners_.open(Config(), {rail(1), rail(2)}).ok()); }

  int port(int index) const { return rail_listeners_.rails()[std::size_t(index)].addresses.at(0).port; }
  static bool takes(int last, int port) {
    const OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(std::uint16_t(port));
    to.sin_addr.s_addr = htonl(0x7f000000u | std::uint32_t(last));
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }

  Reactor reactor_;
  RailListeners rail_listeners_{reactor_};
};

TEST_F(RailListenersTest, an_address_that_comes_back_has_its_port) {
  const int before = port(0);
  ASSERT_TRUE(rail_listeners_.put(0, rail(3)).ok());
  EXPECT_EQ(rail_listeners_.rails()[0].addresses.at(0).address, local(3));
  EXPECT_TRUE(takes(1, before)) << "who was not told dials there";
  ASSERT_TRUE(rail_listeners_.put(0, rail(1)).ok());
  EXPECT_EQ(port(0), before);
}

// Every announcement shows a link that is down (first, welcome, probe and RAILS), so that peers do not dial this rail.
TEST_F(RailListenersTest, set_link__a_link_is_down_until_the_rail_is_put_again) {
  rail_listeners_.set_link(0, false);
  EXPECT_TRUE(rail_listeners_.rails()[0].link_down);
  rail_listeners_.set_link(0, true);
  EXPECT_FALSE(rail_listeners_.rails()[0].link_down);
  rail_listeners_.set_link(0, false);
  ASSERT_TRUE(rail_listeners_.put(0, rail(3)).ok());
  EXPECT_FALSE(rail_listeners_.rails()[0].link_down);
}

TEST_F(RailListenersTest, of_former_ones_the_last_that_was_in_use_stays_longest) {
  const int first = port(0);
  for (int last = 10; last < 14; ++last) ASSERT_TRUE(rail_listeners_.put(0, rail(last)).ok());
  ASSERT_TRUE(rail_listeners_.put(0, rail(1)).ok());
  ASSERT_TRUE(rail_listeners_.put(0, rail(20)).ok());
  EXPECT_TRUE(takes(1, first));
}

TEST_F(RailListenersTest, an_address_of_another_prefix_has_its_port) {
  Rail wider = rail(1);
  wider.addresses[0].prefix_bits = 24;
  const int before = port(0);
  ASSERT_TRUE(rail_listeners_.put(0, wider).ok());
  EXPECT_EQ(port(0), before);
  EXPECT_EQ(rail_listeners_.rails()[0].addresses.at(0).address.prefix_bits, 24);
}

TEST_F(RailListenersTest, a_rail_prefers_its_own_listener) {
  ASSERT_TRUE(rail_listeners_.put(1, rail(1)).ok());
  const int own = port(1);
  ASSERT_TRUE(rail_listeners_.put(0, rail(3)).ok());
  ASSERT_TRUE(rail_listeners_.put(1, rail(1)).ok());
  EXPECT_EQ(port(1), own);
}

TEST_F(RailListenersTest, an_address_that_goes_to_another_rail_keeps_its_port) {
  const int first = port(0), second = port(1);
  ASSERT_TRUE(rail_listeners_.put(0, rail(3)).ok());
  ASSERT_TRUE(rail_listeners_.put(1, rail(1)).ok());
  EXPECT_EQ(port(1), first);
  ASSERT_TRUE(rail_listeners_.put(0, rail(2)).ok());
  EXPECT_EQ(port(0), second);
}

TEST_F(RailListenersTest, rails_that_swap_addresses_swap_listeners) {
  const int first = port(0), second = port(1);
  rail_listeners_.release(0, rail(2).addresses);
  rail_listeners_.release(1, rail(1).addresses);
  ASSERT_TRUE(rail_listeners_.put(0, rail(2)).ok());
  ASSERT_TRUE(rail_listeners_.put(1, rail(1)).ok());
  EXPECT_EQ(port(0), second);
  EXPECT_EQ(port(1), first);
}

TEST_F(RailListenersTest, a_rail_announces_no_address_that_another_rail_took) {
  const int second = port(1);
  rail_listeners_.release(0, rail(2).addresses);
  rail_listeners_.release(1, {});
  EXPECT_TRUE(rail_listeners_.announces(1, rail(2))) << "it may be back";
  ASSERT_TRUE(rail_listeners_.put(0, rail(2)).ok());
  EXPECT_EQ(port(0), second);
  EXPECT_EQ(rail_listeners_.take_reassigned(), std::vector<int>{1});
  EXPECT_TRUE(rail_listeners_.rails()[1].addresses.empty());
  EXPECT_TRUE(rail_listeners_.announces(0, rail(2)));
  EXPECT_TRUE(rail_listeners_.take_reassigned().empty()) << "told once";
  rail_listeners_.release(0, rail(1).addresses);
  rail_listeners_.release(1, rail(2).addresses);
  ASSERT_TRUE(rail_listeners_.put(0, rail(1)).ok());
  ASSERT_TRUE(rail_listeners_.put(1, rail(2)).ok());
  EXPECT_EQ(port(1), second);
}

// Both rails had the address for a moment, so both have a listener.
TEST_F(RailListenersTest, a_rail_that_lost_a_shared_address_no_longer_announces_it) {
  ASSERT_TRUE(rail_listeners_.put(1, rail(1)).ok());
  EXPECT_TRUE(rail_listeners_.take_reassigned().empty());
  rail_listeners_.release(1, {});
  EXPECT_EQ(rail_listeners_.take_reassigned(), std::vector<int>{1});
  EXPECT_TRUE(rail_listeners_.rails()[1].addresses.empty());
  EXPECT_FALSE(rail_listeners_.rails()[0].addresses.empty());
}

TEST_F(RailListenersTest, two_rails_of_one_address_have_a_listener_each) {
  ASSERT_TRUE(rail_listeners_.put(1, rail(1)).ok());
  EXPECT_NE(port(0), port(1));
}

TEST_F(RailListenersTest, the_last_four_former_ones_of_a_rail_stay) {
  const int other = port(1);
  std::vector<int> ports;
  for (int last = 10; last < 16; ++last) {
    ASSERT_TRUE(rail_listeners_.put(0, rail(last)).ok());
    ports.push_back(port(0));
  }
  EXPECT_FALSE(takes(10, ports[0]));
  for (int n = 1; n < 6; ++n) EXPECT_TRUE(takes(10 + n, ports[std::size_t(n)])) << n;
  EXPECT_TRUE(takes(2, other));
}

}  // namespace
}  // namespace railweave::engine
