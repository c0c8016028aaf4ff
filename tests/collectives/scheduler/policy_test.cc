#include "collectives/scheduler/policy.h"

#include <gtest/gtest.h>

namespace railweave::collectives_test {
namespace {

using collectives::parse_policy;
using collectives::Policy;

TEST(Policy, parse__what_there_is) {
  EXPECT_EQ(*parse_policy("off"), Policy{});
  EXPECT_EQ(*parse_policy("window:2"), (Policy{Policy::Kind::operations, 2}));
  EXPECT_EQ(*parse_policy("window:64M"), (Policy{Policy::Kind::bytes, 64ull << 20}));
  for (const char* text : {"off", "window:3", "window:5K", "window:7G"}) EXPECT_EQ(text_of(*parse_policy(text)), text);
}

TEST(Policy, parse__what_there_is_not) {
  for (const char* text : {"", "on", "auto", "window", "window:", "window:0", "window:0M", "window:-1", "window:2x", "window:M", "window:2MB",
                           "window:99999999999999999999", "window:99999999999G", "WINDOW:2"}) {
    const auto parsed = parse_policy(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::invalid_config);
    EXPECT_NE(parsed.status().message().find("window:N"), std::string::npos) << parsed.status().message();
  }
}

}  // namespace
}  // namespace railweave::collectives_test
