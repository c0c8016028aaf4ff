#include "collectives/scheduler/window.h"

#include <gtest/gtest.h>

namespace railweave::collectives_test {
namespace {

using collectives::parse_policy;
using collectives::Window;

TEST(Window, parse__what_there_is) {
  EXPECT_EQ(parse_policy("off")->window, Window{});
  EXPECT_FALSE(parse_policy("off")->learns);
  EXPECT_EQ(parse_policy("auto")->window, Window{});
  EXPECT_TRUE(parse_policy("auto")->learns);
  EXPECT_EQ(parse_policy("window:2")->window, (Window{.operations = 2}));
  EXPECT_EQ(parse_policy("window:64M")->window, (Window{.bytes = 64ull << 20}));
  EXPECT_EQ(parse_policy("window:5K")->window, (Window{.bytes = 5ull << 10}));
  EXPECT_EQ(parse_policy("window:5KiB")->window, (Window{.bytes = 5ull << 10}));
  EXPECT_EQ(parse_policy("window:7G")->window, (Window{.bytes = 7ull << 30}));
}

TEST(Window, parse__what_there_is_not) {
  for (const char* text :
       {"", "on", "auto:2", "window", "window:", "window:0", "window:0M", "window:-1", "window:2x", "window:M",
        "window:2MB", "window:4294967296", "window:99999999999999999999", "window:99999999999G", "WINDOW:2"}) {
    const auto parsed = parse_policy(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::invalid_config);
    EXPECT_NE(parsed.status().message().find("RAILWEAVE_SCHEDULE: found '" + std::string(text) +
                                             "', expected off, auto, window:N"),
              std::string::npos)
        << parsed.status().message();
  }
}

}  // namespace
}  // namespace railweave::collectives_test
