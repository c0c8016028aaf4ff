// The Python package's variables. The package reads them itself (torch_ext/railweave); this section makes them known to
// the engine's parser, the log and docs/operate/configuration.md. Needs no torch.
#pragma once

#include <string>

#include "base/config_section.h"

namespace railweave::torch_ext {

// Read by Config::of<PythonConfig>().
struct PythonConfig {
  std::string dump_dir;  // RAILWEAVE_DUMP_DIR; empty: no dumps of failures
  std::string trace;     // RAILWEAVE_TRACE: a path, %r stands for the rank; empty: no trace
};

// Any thread, any number of times.
void register_config();

}  // namespace railweave::torch_ext
