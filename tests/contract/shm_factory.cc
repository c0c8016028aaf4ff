#include <unistd.h>

#include "tests/contract/lane_contract.h"
#include "tests/unit/wire/shm_pair.h"

namespace railweave::wire::contract {
namespace {

LanePair connect_shm(const ShmLaneOptions& options) {
  ShmPair made(options);
  LanePair pair;
  pair.near = std::move(made.near);
  pair.far = std::move(made.far);
  pair.pass_time = [] { ::usleep(10); };
  return pair;
}

}  // namespace

std::vector<LaneFactory> shm_factories() {
  return {{"shm", [] { return connect_shm({.one_copy = shm::OneCopy::always}); }},
          {"shm_measured", [] { return connect_shm({}); }},
          {"shm_copying", [] { return connect_shm({.one_copy = shm::OneCopy::never}); }}};
}

}  // namespace railweave::wire::contract
