// Parameters for test suites: the versions of the API, and their names.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "nccl/abi/net.h"

namespace railweave::nccl_test {

inline auto all_versions() { return testing::Range(nccl::abi::kOldestVersion, nccl::abi::kNewestVersion + 1); }

inline std::string version_name(const testing::TestParamInfo<int>& info) { return "v" + std::to_string(info.param); }

}  // namespace railweave::nccl_test
