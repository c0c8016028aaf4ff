#include "tests/contract/lane_contract.h"

namespace railweave::wire::contract {

std::vector<LaneFactory> all_factories() {
  std::vector<LaneFactory> all = tcp_factories();
  return all;
}

void LaneContract::turn(std::size_t budget_bytes) {
  std::size_t moved = 0;
  if (pair.near) moved += near.write();
  if (pair.far) moved += far.write() + far.read(budget_bytes);
  if (pair.near) moved += near.read(budget_bytes);
  if (moved == 0) pair.pass_time();
}

void LaneContract::turn_until(const std::function<bool()>& done, std::size_t budget_bytes) {
  constexpr int kTurnsMost = 2'000'000;
  for (int i = 0; i < kTurnsMost && !done() && !HasFatalFailure(); ++i) turn(budget_bytes);
  EXPECT_TRUE(done()) << "stuck: near " << near.describe() << "; far " << far.describe();
}

void LaneContract::write_until_stuck(Recorder& who) {
  for (int still = 0; still < 20;) {
    still = who.write() > 0 ? 0 : still + 1;
    if (still > 0) pair.pass_time();
  }
}

}  // namespace railweave::wire::contract
