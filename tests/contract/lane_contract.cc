#include "tests/contract/lane_contract.h"

namespace railweave::wire::contract {

std::vector<LaneFactory> all_factories() {
  std::vector<LaneFactory> all = tcp_factories();
  for (LaneFactory& shm : shm_factories()) all.push_back(std::move(shm));
  for (LaneFactory& sim : sim_factories()) all.push_back(std::move(sim));
  return all;
}

bool LaneContract::turn(std::size_t budget_bytes) {
  std::size_t moved = 0;
  if (pair.near) moved += near.write();
  if (pair.far) moved += far.write() + far.read(budget_bytes);
  if (pair.near) moved += near.read(budget_bytes);
  if (moved == 0) pair.pass_time();
  return moved > 0;
}

void LaneContract::turn_until(const std::function<bool()>& done, std::size_t budget_bytes) {
  constexpr int kIdleTurnsMost = 20'000;
  for (int idle = 0; idle < kIdleTurnsMost && !done() && !HasFatalFailure();) idle = turn(budget_bytes) ? 0 : idle + 1;
  EXPECT_TRUE(done()) << "stuck: near " << near.describe() << "; far " << far.describe();
}

void LaneContract::write_until_stuck(Recorder& who) {
  for (int still = 0; still < 20;) {
    still = who.write() > 0 ? 0 : still + 1;
    if (still > 0) pair.pass_time();
  }
}

}  // namespace railweave::wire::contract
