// The exception of the test harness: the plugin did not keep a promise, or the harness itself failed.
#pragma once

#include <stdexcept>
#include <string>

#include "nccl/abi/net.h"

namespace railweave::nccl_test {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws unless `code` is ncclSuccess.
inline void expect_success(nccl::abi::ReturnCode code, const std::string& what) {
  if (code != nccl::abi::kSuccess) throw Failure(what + " gave ncclResult_t " + std::to_string(int(code)));
}

}  // namespace railweave::nccl_test
