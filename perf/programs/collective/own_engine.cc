#include "collective/own_engine.h"

#include "base/error.h"
#include "collectives/config/config_section.h"
#include "collectives/schedule/algorithm_choice.h"

namespace railweave::perf::collective {

Result<Config> own_config(bool one_machine) {
  collectives::register_config();
  RW_ASSIGN_OR_RETURN(Config config, Config::from_environment());
  RW_TRY(collectives::check_algorithm_choice(config.of<collectives::CollectivesConfig>().algorithms));
  if (one_machine && config.interfaces.empty() && config.rails.empty()) config.interfaces = "=lo";
  if (!config.shm) config.shm = true;
  return config;
}

Result<std::shared_ptr<Engine>> start_engine(bool one_machine) {
  RW_ASSIGN_OR_RETURN(const Config config, own_config(one_machine));
  return Engine::start(config);
}

}  // namespace railweave::perf::collective
