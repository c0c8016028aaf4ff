// The plugin under test: what perf/programs/any_net gives, with Failure in place of a Status.
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
  explicit Library(const std::string& path);    // throws Failure with the loader's text
  std::unique_ptr<Net> net(int version) const;  // throws Failure when the library has no such table

 private:
  any_net::Library library_;
};

}  // namespace railweave::nccl_test
