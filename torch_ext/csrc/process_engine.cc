#include "torch_ext/csrc/process_engine.h"

#include <c10/util/Logging.h>

#include <optional>

#include "base/error.h"
#include "base/mutex.h"
#include "base/process_origin.h"
#include "collectives/config/config_section.h"
#include "torch_ext/config/config_section.h"
#include "torch_ext/csrc/dumps.h"

namespace railweave::torch_ext {
namespace {

void say(LogLevel level, LogTopic, const char*, int, std::string_view text) {
  if (level == LogLevel::warn) {
    LOG(WARNING) << "railweave: " << text;
  } else if (level == LogLevel::info) {
    LOG(INFO) << "railweave: " << text;
  }
}

struct OneEngine {
  Mutex mutex;
  std::optional<ProcessOrigin> made_in RW_GUARDED_BY(mutex);
  std::weak_ptr<Engine> engine RW_GUARDED_BY(mutex);
};

// Never destroyed, because threads may outlive the objects of a process that exits. A forked child has one of its own,
// because the parent's mutex may be held for ever. Children of that child share the child's.
OneEngine& one_engine() {
  static OneEngine* const of_parent = new OneEngine;
  static const ProcessOrigin origin;
  if (!origin.in_child()) return *of_parent;
  static OneEngine* const of_child = new OneEngine;
  return *of_child;
}

}  // namespace

Result<std::shared_ptr<Engine>> process_engine() {
  OneEngine& here = one_engine();
  const MutexLock lock(here.mutex);
  const bool inherited = here.made_in && here.made_in->in_child();
  if (auto engine = here.engine.lock(); engine && !inherited) return engine;
  set_log_sink(say);
  collectives::register_config();
  register_config();
  RW_ASSIGN_OR_RETURN(Config config, Config::from_environment());
  set_dump_folder(config.of<PythonConfig>().dump_dir);
  if (!config.shm) config.shm = true;
  auto engine = Engine::start(config);
  if (!engine.ok() && config.interfaces.empty() && config.rails.empty()) {
    config.interfaces = "=lo";
    if (auto over_loopback = Engine::start(config); over_loopback.ok()) engine = std::move(over_loopback);
  }
  if (!engine.ok()) return engine.status();
  here.made_in.emplace();
  here.engine = *engine;
  return engine;
}

}  // namespace railweave::torch_ext
