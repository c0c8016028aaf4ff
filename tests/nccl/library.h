// The plugin under test: perf/programs/any_net, with Failure instead of a Status.
#pragma once

#include <memory>
#include <string>

#include "any_net/library.h"

namespace railweave::nccl_test {

namespace abi = nccl::abi;
using abi::ReturnCode;
using any_net::Net;
using any_net::Properties;

class Library {
 public:
  explicit Library(const std::string& path);    // throws Failure with the loader's message
  std::unique_ptr<Net> net(int version) const;  // throws Failure if the library has no such table

 private:
  any_net::Library library_;
};

}  // namespace railweave::nccl_test
