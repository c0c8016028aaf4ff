#include "tests/nccl/job.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/nccl/failure.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/pair.h"
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

// Throws Failure unless each lane of the log went by the wire of --wire, and there was one.
void expect_wire(const std::string& wire) {
  std::size_t lanes = 0;
  for (const LogLine& line : captured_log()) {
    if (line.text.find("lane ") == std::string::npos || line.text.find(" → ") == std::string::npos) continue;
    if (!line.text.ends_with(", by " + wire)) throw Failure("not by " + wire + ": " + line.text);
    ++lanes;
  }
  if (lanes == 0) throw Failure("the log names no lane, so no lane by " + wire);
  std::printf("%zu lanes by %s\n", lanes, wire.c_str());
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
  if (!captured_warnings().empty()) throw Failure("there were warnings");
  if (!options().wire.empty()) expect_wire(options().wire);
}

void abort_once_nothing_comes(int number, Channel& to_peer) {
  using std::chrono::steady_clock, std::chrono::seconds;
  const Library library(options().plugin);
  const auto net = library.net(abi::kNewestVersion);
  const Scenario scenario{.version = abi::kNewestVersion, .both_ways = true, .messages = 1'000'000};
  Rank rank(*net, scenario, number);
  rank.connect(to_peer);
  SendFlow& send = *rank.sends().front();
  RecvFlow& receive = *rank.receives().front();
  std::uint64_t done = 0;
  auto done_at = steady_clock::now();
  spin_until("cut off", seconds(30), [&] {
    send.advance();
    receive.advance();
    if (const auto all = send.done() + receive.done(); all != done) done = all, done_at = steady_clock::now();
    return done > 0 && steady_clock::now() - done_at > seconds(3);
  });
  abort_promptly(rank);
  std::printf("aborted after %llu messages\n", static_cast<unsigned long long>(done));
}

int run(void (*play)(int number, Channel& to_peer)) {
  try {
    const int rank = variable("RANK") == "0" ? 0 : 1;
    Channel to_peer = Channel::over_tcp(rank, variable("MASTER_ADDR"), variable("MASTER_PORT"));
    play(rank, to_peer);
    return 0;
  } catch (const Failure& failure) {
    std::printf("FAILED: %s\n%s", failure.what(), warnings_text().c_str());
    return 1;
  }
}

}  // namespace

int run_job() { return run(run_all); }

int run_job_into_an_outage() { return run(abort_once_nothing_comes); }

}  // namespace railweave::nccl_test
