// Worlds, one per seed: nothing is lost, doubled, misplaced or stuck (docs/internals/simulator.md).
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tests/sim/options.h"
#include "tests/sim/world.h"

namespace railweave::sim {
namespace {

using Clock = std::chrono::steady_clock;

struct Sum {
  std::uint64_t worlds = 0, bytes = 0, hosts = 0;
  std::size_t hosts_most = 0;
  Nanos virtual_time{0};
};

// Prints the summary, and writes it for the record of tests/run.
void tell(const Sum& sum, double seconds) {
  char line[200];
  std::snprintf(line, sizeof line,
                "%llu worlds of %llu hosts (%zu at most), %.1f s of virtual time, %.1f MB, in %.1f s",
                static_cast<unsigned long long>(sum.worlds), static_cast<unsigned long long>(sum.hosts), sum.hosts_most,
                double(sum.virtual_time.count()) / 1e9, double(sum.bytes) / 1e6, seconds);
  std::printf("%s\n", line);
  if (const char* notes = std::getenv("TESTS_NOTES"))
    std::ofstream(std::string(notes) + "/worlds-" + std::to_string(options().first_seed))
        << line << " from seed " << options().first_seed << "\n";
}

// limit of a world's processor time; the largest world takes a second or two, and longer on a loaded machine
constexpr time_t kWorldSecondsMax = 60;
char replay[600];

// Prints the seed of a world that crashes or never ends.
void say_seed(int signal) {
  (void)!::write(STDOUT_FILENO, replay, std::strlen(replay));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Raises SIGPROF after so many seconds of processor time; 0: never.
void limit_cpu(time_t seconds) {
  const itimerval limit{{}, {seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

void run_one(std::uint64_t seed, Sum& sum) {
  std::snprintf(replay, sizeof replay, "replay: %s --trace --seed %llu\n", options().program.c_str(),
                static_cast<unsigned long long>(seed));
  limit_cpu(kWorldSecondsMax);
  World world(seed, options().trace);
  const std::string failure = world.run();
  EXPECT_EQ(failure, "") << "replay: " << options().program << " --trace --seed " << seed;
  ++sum.worlds;
  sum.hosts += world.hosts();
  sum.hosts_most = std::max(sum.hosts_most, world.hosts());
  sum.bytes += world.bytes_consumed();
  sum.virtual_time += world.lasted();
}

TEST(Worlds, run__nothing_is_lost_doubled_misplaced_or_stuck) {
  for (const int fatal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGPROF}) std::signal(fatal, say_seed);
  Sum sum;
  const auto began = Clock::now();
  if (options().only_seed != 0) {
    run_one(options().only_seed, sum);
  } else {
    for (std::uint64_t seed = options().first_seed;
         sum.worlds < options().seeds_most && !HasFailure() &&
         std::chrono::duration<double>(Clock::now() - began).count() < options().seconds;
         seed += options().step)
      run_one(seed, sum);
  }
  limit_cpu(0);
  tell(sum, std::chrono::duration<double>(Clock::now() - began).count());
}

}  // namespace
}  // namespace railweave::sim
