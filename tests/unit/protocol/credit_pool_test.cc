#include "protocol/credit_pool.h"

#include <gtest/gtest.h>

namespace railweave::protocol {
namespace {

TEST(CreditPool, has_room__until_as_much_is_announced_as_the_cap) {
  CreditPool pool(1000);
  EXPECT_TRUE(pool.has_room());
  pool.announce(999);
  EXPECT_TRUE(pool.has_room());
  pool.announce(5000);  // the message was under way already
  EXPECT_FALSE(pool.has_room());
  EXPECT_EQ(pool.charged_bytes(), 5999u);
  pool.settle(4999);
  EXPECT_FALSE(pool.has_room());
  pool.settle(1);
  EXPECT_TRUE(pool.has_room());
}

TEST(CreditPool, has_room__never_without_a_cap) {
  CreditPool pool(0);
  EXPECT_FALSE(pool.has_room());
}

}  // namespace
}  // namespace railweave::protocol
