#include "tests/nccl/library.h"

#include "tests/nccl/failure.h"

namespace railweave::nccl_test {
namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) throw Failure(result.status().message());
  return std::move(*result);
}

}  // namespace

Library::Library(const std::string& path) : library_(value_of(any_net::Library::open(path))) {}

std::unique_ptr<Net> Library::net(int version) const { return value_of(library_.net(version)); }

}  // namespace railweave::nccl_test
