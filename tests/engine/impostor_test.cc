// Handshakes with an acceptor that sends wrong welcomes, or ends the session while lanes join.
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

TEST(Handshakes, a_welcome_by_a_rail_that_is_not_announced_is_refused) {
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
    EXPECT_NE(failed.message().find("a welcome by rail " + std::to_string(rail)), std::string::npos)
        << failed.message();
  }
}

TEST(Handshakes, a_welcome_without_rails_is_refused) {
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

// The session fails while its second lane is being dialled: a connect that begins then still gets its dial.
TEST(Handshakes, a_session_that_failed_while_lanes_join_is_dialled_anew) {
  std::atomic<int> firsts{0};
  std::atomic<bool> failed{false}, go_on{false};
  Impostor* self = nullptr;
  Impostor impostor([&](const Hello& said, Hello&) {
    if (said.kind == Hello::Kind::first) return ++firsts, true;
    if (firsts > 1) return false;
    self->say(protocol::FenceFrame{.lane = 0, .frames = 999});
    failed = true;
    return eventually([&] { return go_on.load(); }, 2s) && false;
  });
  self = &impostor;
  Config config = loopback();
  config.lanes_per_rail = 2;
  const auto engine = start_engine(config);
  ASSERT_TRUE(engine);
  auto first = engine->connect(0, impostor.handle());
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(eventually([&] { return failed.load(); }, 5s));
  EXPECT_FALSE(outcome_of(**first, 2s).ok());
  auto second = engine->connect(0, impostor.handle());
  ASSERT_TRUE(second.ok());
  go_on = true;
  EXPECT_TRUE(eventually([&] { return firsts >= 2; }, 15s));  // an attempt that nobody answers takes 5 s
}

}  // namespace
}  // namespace railweave::engine_test
