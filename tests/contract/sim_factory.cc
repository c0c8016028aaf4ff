#include "tests/contract/lane_contract.h"
#include "wire/sim/network.h"

namespace railweave::wire::contract {
namespace {

LanePair connect_sim(const LinkSpec& spec) {
  auto net = std::make_shared<SimNetwork>(20260101);
  LanePair pair;
  auto [near, far] = net->connect(spec);
  pair.near = std::move(near);
  pair.far = std::move(far);
  pair.pass_time = [net = net.get(), by = spec.delay] { net->run_until(net->now() + by); };
  pair.world = std::move(net);
  return pair;
}

std::vector<LaneFactory> sim_factories() {
  LinkSpec smooth, rough;
  rough.rate = Rate::from_megabits(1000);
  rough.piece_bytes = 1500;
  rough.pause_probability = 0.2;
  rough.queue_bytes = 20'000;
  rough.ending_most = std::chrono::milliseconds(3);
  rough.send_buffer_bytes = rough.receive_buffer_bytes = 100'000;
  return {{"sim", [smooth] { return connect_sim(smooth); }}, {"sim_rough", [rough] { return connect_sim(rough); }}};
}

const RegisteredFactories registered_sim(sim_factories());

}  // namespace
}  // namespace railweave::wire::contract
