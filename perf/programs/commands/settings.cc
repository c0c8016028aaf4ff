#include "commands/settings.h"

#include "collectives/config/config_section.h"
#include "torch_ext/config/config_section.h"

namespace railweave::commands {

Result<Config> settings_from_environment() {
  collectives::register_config();
  torch_ext::register_config();
  return Config::from_environment();
}

}  // namespace railweave::commands
