#include "wire/ofi/exit_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace railweave::wire::ofi {
namespace {

TEST(OfiExitGate, nobody_enters_after_the_exit_began) {
  ExitGate gate;
  EXPECT_TRUE(gate.enter());
  gate.leave();
  gate.close();
  EXPECT_FALSE(gate.enter());
}

TEST(OfiExitGate, the_exit_waits_for_a_call_under_way) {
  ExitGate gate(std::chrono::seconds(60));
  ASSERT_TRUE(gate.enter());
  std::atomic<bool> done{false};
  std::thread call([&] {
    while (gate.enter()) gate.leave();  // until the exit began
    done = true;
    gate.leave();
  });
  gate.close();
  EXPECT_TRUE(done);
  call.join();
}

TEST(OfiExitGate, a_call_that_blocks_is_left_behind) {
  ExitGate gate(std::chrono::milliseconds(1));
  ASSERT_TRUE(gate.enter());
  gate.close();
  EXPECT_FALSE(gate.enter());
}

}  // namespace
}  // namespace railweave::wire::ofi
