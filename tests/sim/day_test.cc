// A day of 64 hosts with faults of every kind: nothing is lost, and nothing piles up (docs/internals/simulator.md).
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/sim/day_world.h"
#include "tests/sim/options.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr double kSegmentsPerSecond = 30;  // of every host
constexpr double kFaultsOfEachPerHour = 1000. / 24;
constexpr double kGrowthMost = 1.02;       // of memory, from the second quarter to the last
constexpr double kJudgedHours = 4;         // shorter days are too short to judge growth
constexpr unsigned kStepSecondsMax = 120;  // of real time, for one virtual second
constexpr int kMemoryEvery = 5;            // virtual seconds, from one poll of memory to the next
constexpr int kTrimEvery = 12;             // of these polls, from one of resident memory to the next
constexpr double kTellEverySeconds = 30;

std::string text(const char* format, auto... args) {
  char line[400];
  std::snprintf(line, sizeof line, format, args...);
  return line;
}

std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * std::size_t(sysconf(_SC_PAGESIZE));
}

// The most bytes that were allocated, and that were resident, in each quarter of the day.
struct Memory {
  std::array<std::size_t, 4> live{}, resident{};
  int looks = 0;
  void poll(int quarter) {
    const auto q = std::size_t(std::min(quarter, 3));
    const struct mallinfo2 info = mallinfo2();
    live[q] = std::max(live[q], info.uordblks + info.hblkhd);
    if (++looks % kTrimEvery != 0) return;
    malloc_trim(0);  // memory that the allocator keeps is no leak
    resident[q] = std::max(resident[q], resident_bytes());
  }
};

std::string quarters(const std::array<std::size_t, 4>& bytes) {
  return text("%.1f %.1f %.1f %.1f MB", double(bytes[0]) / 1e6, double(bytes[1]) / 1e6, double(bytes[2]) / 1e6,
              double(bytes[3]) / 1e6);
}

double growth(const std::array<std::size_t, 4>& bytes) { return double(bytes[3]) / double(bytes[1]); }

std::string story(const DayWorld& world, double seconds) {
  std::uint64_t all = 0, fewest = ~0ull;
  for (std::size_t f = 0; f < kFaults; ++f) {
    all += world.faults(Fault(f));
    fewest = std::min(fewest, world.faults(Fault(f)));
  }
  return text(
      "%.2f h of virtual time, %zu hosts, %llu sessions, %.1f million segments, %llu faults (%llu at least of each of "
      "%zu kinds), in %.0f s",
      double(world.lasted().count()) / 3.6e12, world.hosts(), static_cast<unsigned long long>(world.lives()),
      double(world.segments()) / 1e6, static_cast<unsigned long long>(all), static_cast<unsigned long long>(fewest),
      kFaults, seconds);
}

std::string each(const DayWorld& world) {
  std::string line;
  for (std::size_t f = 0; f < kFaults; ++f)
    line += text("%s%s %llu", f == 0 ? "" : ", ", name_of(Fault(f)),
                 static_cast<unsigned long long>(world.faults(Fault(f))));
  return line;
}

TEST(Day, nothing_is_lost_and_nothing_piles_up) {
  const double hours = options().hours;
  const std::uint64_t seed = options().only_seed != 0 ? options().only_seed : options().first_seed;
  const std::string replay = text("replay: %s --seed %llu --hours %g\n", options().program.c_str(),
                                  static_cast<unsigned long long>(seed), hours);
  std::printf("%s", replay.c_str());
  const DayWorld::Plan plan{.length = Nanos(std::int64_t(hours * 3.6e12)),
                            .segments_per_second = kSegmentsPerSecond,
                            .faults_of_each = std::uint64_t(hours * kFaultsOfEachPerHour)};
  DayWorld world(seed, options().trace, plan);
  Memory memory;
  const auto began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  double told = 0;
  int step = 0;
  const std::string failure = world.run_day([&] {
    alarm(kStepSecondsMax);
    if (++step % kMemoryEvery == 0) memory.poll(int(4 * world.lasted() / plan.length));
    if (seconds() - told < kTellEverySeconds) return;
    told = seconds();
    std::printf("%s; %s, %.1f MB live, %.1f MB resident\n", story(world, told).c_str(), world.books().c_str(),
                double(mallinfo2().uordblks) / 1e6, double(resident_bytes()) / 1e6);
    std::fflush(stdout);
  });
  alarm(0);
  const std::string summary = story(world, seconds()) + "\n" + each(world) + "\nmost memory by quarter: live " +
                              quarters(memory.live) + text(" (%.3f)", growth(memory.live)) + ", resident " +
                              quarters(memory.resident) + text(" (%.3f)", growth(memory.resident));
  std::printf("%s\n", summary.c_str());
  if (const char* notes = std::getenv("TESTS_NOTES"))
    std::ofstream(text("%s/day-%llu", notes, static_cast<unsigned long long>(seed))) << summary << "\n";

  EXPECT_EQ(failure, "") << replay;
  for (std::size_t f = 0; f < kFaults; ++f) EXPECT_GE(world.faults(Fault(f)), plan.faults_of_each) << name_of(Fault(f));
  EXPECT_GE(double(world.fewest_segments()), hours * 3600 * kSegmentsPerSecond) << "of one host";
  if (hours < kJudgedHours) return;
  EXPECT_LE(growth(memory.live), kGrowthMost);
  EXPECT_LE(growth(memory.resident), kGrowthMost);
}

}  // namespace
}  // namespace railweave::sim
