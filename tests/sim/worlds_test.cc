#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

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

void run_one(std::uint64_t seed, Sum& sum) {
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
  Sum sum;
  const auto began = Clock::now();
  if (options().only_seed != 0) {
    run_one(options().only_seed, sum);
  } else {
    for (std::uint64_t seed = options().first_seed; sum.worlds < options().seeds_most && !HasFailure() &&
                                                    std::chrono::duration<double>(Clock::now() - began).count() < options().seconds;
         seed += options().step)
      run_one(seed, sum);
  }
  const double spent = std::chrono::duration<double>(Clock::now() - began).count();
  std::printf("%llu worlds of %llu hosts (%zu at most), %.1f s of virtual time, %.1f MB, in %.1f s\n", static_cast<unsigned long long>(sum.worlds),
              static_cast<unsigned long long>(sum.hosts), sum.hosts_most, double(sum.virtual_time.count()) / 1e9, double(sum.bytes) / 1e6, spent);
}

}  // namespace
}  // namespace railweave::sim
