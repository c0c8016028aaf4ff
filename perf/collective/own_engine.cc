#include "collective/own_engine.h"

#include "base/error.h"

namespace railweave::perf::collective {

Result<std::shared_ptr<Engine>> start_engine(bool one_machine) {
  RW_ASSIGN_OR_RETURN(Config config, Config::from_environment());
  if (one_machine && config.interfaces.empty() && config.rails.empty()) config.interfaces = "=lo";
  if (!config.shm) config.shm = true;
  return Engine::start(config);
}

}  // namespace railweave::perf::collective
