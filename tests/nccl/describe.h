// Describes the plugin under a given environment: its results, properties and log lines, in a process of its own.
#pragma once

#include <string>
#include <vector>

#include "tests/nccl/library.h"

namespace railweave::nccl_test {

struct Description {
  int init_result = -1, devices_result = -1, devices = 0;
  std::vector<Properties> properties;
  std::vector<std::string> warnings, infos, overrides;  // overrides: INFO lines with the ENV flag
};

// `environment`: changes to this process's variables: "NAME=value" sets one, "NAME=" unsets one.
Description describe_plugin(int version, const std::vector<std::string>& environment);

// The role of that process (peer.h).
int role_describe(class Channel& to_test, const std::string& version);

}  // namespace railweave::nccl_test
