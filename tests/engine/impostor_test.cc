// Handshakes answered by somebody who means ill, or who leaves at an awkward moment.
#include "impostor.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/clock.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;
using engine::Hello;

Status outcome_of(Connector& connector, Nanos patience) {
  Status failed;
  eventually(
      [&] {
        auto polled = connector.poll();
        if (!polled.ok()) failed = polled.status();
        return !failed.ok();
      },
      patience);
  return failed;
}

TEST(Impostors, WhoseWelcomeNamesARailTheyDoNotHave) {
  for (const int rail : {1, 63, 64, 255}) {
    Impostor impostor([rail](const Hello&, Hello& answer) {
      answer.remote_rail = std::uint8_t(rail);
      return true;
    });
    const auto engine = start_engine();
    ASSERT_TRUE(engine);
    auto connector = engine->connect(0, impostor.handle());
    ASSERT_TRUE(connector.ok()) << connector.status().message();
    const Status failed = outcome_of(**connector, 10s);
    EXPECT_EQ(failed.code(), Code::remote);
    EXPECT_NE(failed.message().find("a welcome by rail " + std::to_string(rail)), std::string::npos) << failed.message();
  }
}

TEST(Impostors, WhoseWelcomeHasNoRails) {
  Impostor impostor([](const Hello&, Hello& answer) {
    answer.rails.clear();
    return true;
  });
  const auto engine = start_engine();
  ASSERT_TRUE(engine);
  auto connector = engine->connect(0, impostor.handle());
  ASSERT_TRUE(connector.ok()) << connector.status().message();
  const Status failed = outcome_of(**connector, 10s);
  EXPECT_NE(failed.message().find("a welcome without rails"), std::string::npos) << failed.message();
}

}  // namespace
}  // namespace railweave::engine_test
