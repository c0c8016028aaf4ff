#include "base/config_section.h"

#include <algorithm>

#include "base/mutex.h"

namespace railweave {
namespace {

// A plugin under NCCL has no collectives, and its user may have set their variables all the same.
constexpr std::string_view kOtherLibraries[] = {"RAILWEAVE_ALGO", "RAILWEAVE_DUMP_DIR", "RAILWEAVE_SCHEDULE",
                                                "RAILWEAVE_TRACE"};

struct Registry {
  Mutex mutex;
  std::vector<const ConfigSection*> sections RW_GUARDED_BY(mutex) = {&engine_section()};
};

Registry& registry() {
  static Registry* const all = new Registry;  // never destroyed: threads may still parse while the process ends
  return *all;
}

}  // namespace

void register_config_section(const ConfigSection& section) {
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  if (std::ranges::find(all.sections, &section) == all.sections.end()) all.sections.push_back(&section);
}

std::vector<const ConfigSection*> config_sections() {
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  return all.sections;
}

std::vector<const Setting*> config_settings() {
  std::vector<const Setting*> settings;
  for (const ConfigSection* section : config_sections())
    for (const Setting& setting : section->settings) settings.push_back(&setting);
  return settings;
}

std::span<const std::string_view> variables_of_other_libraries() { return kOtherLibraries; }

}  // namespace railweave
