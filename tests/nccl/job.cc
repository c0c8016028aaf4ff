#include "tests/nccl/job.h"

#include <cstdio>
#include <cstdlib>

#include "tests/nccl/failure.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/peer.h"
#include "tests/nccl/rank.h"
#include "tests/nccl/scenarios.h"

namespace railweave::nccl_test {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  if (!value || !*value) throw Failure(std::string(name) + " is not set");
  return value;
}

void run_all(int rank, Channel& to_peer) {
  const Library library(options().plugin);
  for (int version = abi::kNewestVersion; version >= abi::kOldestVersion; --version) {
    const auto net = library.net(version);
    for (const auto& [name, standard] : standard_scenarios()) {
      Scenario scenario = standard;
      scenario.version = version;
      scenario.optional_completion = scenario.optional_completion && version >= 9;
      run_rank(*net, scenario, rank, to_peer);
      if (rank == 0) std::printf("ok v%d %s\n", version, name), std::fflush(stdout);
    }
  }
}

}  // namespace

int run_job() {
  try {
    const int rank = variable("RANK") == "0" ? 0 : 1;
    Channel to_peer = Channel::over_tcp(rank, variable("MASTER_ADDR"), variable("MASTER_PORT"));
    run_all(rank, to_peer);
    if (!captured_warnings().empty()) throw Failure("there were warnings");
    return 0;
  } catch (const Failure& failure) {
    std::printf("FAILED: %s\n%s", failure.what(), warnings_text().c_str());
    return 1;
  }
}

}  // namespace railweave::nccl_test
