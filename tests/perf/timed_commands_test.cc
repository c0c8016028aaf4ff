#include "common/timed_commands.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace railweave::perf {
namespace {

TEST(TimedCommands, run_when_due_and_report_their_exit) {
  auto commands = TimedCommands::parse({"2:exit 3", "1.5:true"});
  ASSERT_TRUE(commands.ok());
  commands->tick(std::chrono::seconds(1));
  EXPECT_EQ(commands->finish().size(), 0u);
  commands->tick(std::chrono::milliseconds(1600));
  commands->tick(std::chrono::seconds(3));
  const auto events = commands->finish();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["command"], "true");
  EXPECT_EQ(events[0]["exit"], 0);
  EXPECT_DOUBLE_EQ(events[0]["t_s"].get<double>(), 1.6);
  EXPECT_EQ(events[1]["exit"], 3);
}

TEST(TimedCommands, ill_formed_ones_are_refused) {
  for (const char* text :
       {"true", ":true", "x:true", "-1:true", "1s:true", "nan:true", "inf:true", "1e300:true", "1:", ""}) {
    EXPECT_FALSE(TimedCommands::parse({text}).ok()) << text;
  }
}

}  // namespace
}  // namespace railweave::perf
