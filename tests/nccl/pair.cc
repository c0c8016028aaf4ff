#include "tests/nccl/pair.h"

#include <thread>

#include "tests/nccl/failure.h"
#include "tests/sparing_spin.h"

namespace railweave::nccl_test {

Pair::Pair(const Scenario& for_first, const Scenario& for_second)
    : library_(options().plugin), net_(library_.net(for_first.version)) {
  first = std::make_unique<Rank>(*net_, for_first, 0);
  second = std::make_unique<Rank>(*net_, for_second, 1);
  auto ends = Channel::pair();
  std::exception_ptr failed;
  std::thread other([&] {
    try {
      second->connect(ends.second);
    } catch (...) {
      failed = std::current_exception();
      ends.second.close();
    }
  });
  try {
    first->connect(ends.first);
  } catch (...) {
    failed = std::current_exception();
    ends.first.close();
  }
  other.join();
  if (failed) std::rethrow_exception(failed);
}

void spin_until(const std::string& what, std::chrono::milliseconds timeout, const std::function<bool()>& step) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (SparingSpin spin; !step(); spin()) {
    if (std::chrono::steady_clock::now() > until)
      throw Failure("within " + std::to_string(timeout.count()) + " ms: not " + what);
  }
}

std::string error_of(Flow& flow, std::chrono::milliseconds timeout) {
  std::string error;
  spin_until("an error of " + flow.state(), timeout, [&] {
    try {
      if (flow.advance()) throw std::logic_error("finished without an error: " + flow.state());
    } catch (const Failure& failure) {
      error = failure.what();
    }
    return !error.empty();
  });
  return error;
}

}  // namespace railweave::nccl_test
