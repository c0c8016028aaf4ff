#include <unistd.h>

#include "tests/contract/lane_contract.h"
#include "tests/unit/wire/shm_pair.h"
#include "wire/shm/wire.h"

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

const RegisteredFactories registered_shm({{"shm", [] { return connect_shm({.one_copy = shm::OneCopy::always}); }},
                                          {"shm_measured", [] { return connect_over_unix_socket(shm_wire()); }},
                                          {"shm_copying",
                                           [] { return connect_shm({.one_copy = shm::OneCopy::never}); }}});

}  // namespace
}  // namespace railweave::wire::contract
