// What a plugin says of itself under a given environment: asked in a process of its own.
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

// "NAME=value" of variables on top of ours; "NAME=" unsets.
Description describe_plugin(int version, const std::vector<std::string>& environment);

// The role behind it.
int role_describe(class Channel& to_test, const std::string& version);

}  // namespace railweave::nccl_test
