// The second processes.
#include <unistd.h>

#include "tests/nccl/failure.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/peer.h"
#include "tests/nccl/rank.h"

namespace railweave::nccl_test {
namespace {

void expect_no_warnings() {
  if (!captured_warnings().empty()) throw Failure("there were warnings");
}

// Rank 1 of a scenario, from init to finalize.
int rank_one(Channel& to_test, const std::string& scenario_text) {
  const Scenario scenario = Scenario::parse(scenario_text);
  const Library library(paths().plugin);
  const auto net = library.net(scenario.version);
  run_rank(*net, scenario, 1, to_test);
  expect_no_warnings();
  return 0;
}

}  // namespace

const std::map<std::string, Role>& roles() {
  static const std::map<std::string, Role> kRoles{{"rank_one", rank_one}};
  return kRoles;
}

}  // namespace railweave::nccl_test
