// Execution of schedules of many ranks over a FakeNetwork: every algorithm, type and reduction, fast and slow ranks,
// several operations at once, from seeds. tests/collectives/schedule proves the schedules themselves.
#include "collectives/exec/execution.h"

#include <gtest/gtest.h>

#include "fake_job.h"

namespace railweave::collectives_test {
namespace {

using namespace collectives;

constexpr int kChannels = 3;

class Execution1To8 : public testing::TestWithParam<int> {};

// Each type and reduction has other counts with each algorithm and number of ranks.
TEST_P(Execution1To8, every_algorithm_type_and_reduction) {
  constexpr std::size_t kCounts[] = {0, 1, 3, 37, 130};
  const int ranks = GetParam();
  FakeJob job(ranks, std::uint64_t(ranks));
  std::size_t next = std::size_t(ranks);
  for (const Algorithm& a : algorithms()) {
    for (Case one : every_type(a.operation, ranks)) {
      for (const bool in_place : {false, true}) {
        one.count = kCounts[next % 5];
        one.in_place = in_place;
        one.uneven = one.has_parts() && next / 5 % 2 == 0;
        one.root = int(next / 3) % ranks;
        job.add(a, one, int(++next % kChannels));
      }
      if (one.operation == Operation::barrier) break;
    }
    ASSERT_EQ(job.finish(), "") << a.name << ", " << ranks << " ranks";
  }
}

TEST_P(Execution1To8, every_count_and_root__in_place_and_not) {
  const int ranks = GetParam();
  FakeJob job(ranks, std::uint64_t(ranks) + 100);
  int channel = 0;
  for (const Algorithm& a : algorithms()) {
    Case one;
    one.operation = a.operation;
    one.ranks = ranks;
    one.type = DataType::bfloat16;  // its partial sums are wider
    one.chunk_bytes = 256;
    for (one.root = 0; one.root < ranks; ++one.root)
      for (const std::size_t count : {0, 1, 7, 601})
        for (const bool in_place : {false, true})
          for (const bool uneven : {false, true}) {
            if (uneven && !one.has_parts()) continue;
            one.count = count;
            one.in_place = in_place;
            one.uneven = uneven;
            job.add(a, one, channel++ % kChannels);
          }
    ASSERT_EQ(job.finish(), "") << a.name << ", " << ranks << " ranks";
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Execution1To8, testing::Range(1, 9));

TEST(Execution, every_algorithm__several_at_once_among_ranks_of_all_speeds) {
  for (const int ranks : {2, 3, 5, 8, 13, 32}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      FakeJob job(ranks, seed);
      int channel = 0;
      for (const Algorithm& a : algorithms())
        for (const std::size_t count : {1, 37, 1500})
          job.add(a, {.operation = a.operation, .ranks = ranks, .count = count, .root = int(seed) % ranks},
                  channel++ % kChannels);
      ASSERT_EQ(job.finish(), "") << ranks << " ranks, seed " << seed;
    }
  }
}

// Streams that exist when a caller begins to wait are expedited, and later ones, too.
TEST(Execution, expedite__expedites_each_stream_up_to_the_operations_order) {
  for (const Algorithm& a : algorithms()) {
    if (a.operation != Operation::all_gather) continue;
    FakeJob job(8, 1);  // on two hosts
    const Case one{.operation = a.operation, .ranks = 8, .count = 4000};
    ASSERT_TRUE(job.add(a, one, 0, 7)) << a.name;
    ASSERT_EQ(job.finish(), "");
    const auto before = job.network().orders();
    for (const auto& stream : before) EXPECT_EQ(stream.expedited, std::vector<std::uint64_t>{});
    ASSERT_TRUE(job.add(a, one, 0, 8));
    ASSERT_TRUE(job.add(a, one, 1, 9));
    job.expedite();
    ASSERT_EQ(job.finish(), "");
    std::size_t streams = 0;
    for (const auto& stream : job.network().orders()) {
      ++streams;
      ASSERT_GE(stream.posted.size(), 2u) << a.name;
      const std::uint64_t last = streams <= before.size() ? 8 : 9;
      EXPECT_EQ(stream.posted.front(), 0u) << "its hello";
      EXPECT_EQ(stream.posted[1], last == 8 ? 7u : 9u);
      EXPECT_EQ(stream.posted.back(), last);
      EXPECT_FALSE(stream.expedited.empty()) << a.name;
      for (const std::uint64_t upto : stream.expedited) EXPECT_EQ(upto, last) << a.name;
    }
    EXPECT_EQ(streams, 2 * before.size());
  }
}

// A thread may rest while this many bytes move. The figure is 0 if something may be due, and leaves out bytes that
// arrived.
TEST(Execution, bytes_on_their_way__the_fewest_of_a_flow_that_is_not_over) {
  using Bytes = std::vector<std::size_t>;
  for (const Algorithm& a : algorithms()) {
    if (a.operation != Operation::all_gather || a.name == "two_level") continue;  // needs several hosts
    FakeJob job(2, 1);
    const Case one{.operation = a.operation, .ranks = 2, .count = 4000};
    const std::size_t part = one.count * size_bytes(one.type);
    ASSERT_TRUE(job.add(a, one, 0)) << a.name;
    ASSERT_EQ(job.finish(), "");  // the streams are there
    ASSERT_TRUE(job.add(a, one, 0));
    EXPECT_EQ(job.bytes_on_their_way(), (Bytes{0, 0})) << a.name << ": nothing is posted";
    job.advance();
    EXPECT_EQ(job.bytes_on_their_way(), (Bytes{part, part})) << a.name;
    for (int step = 0; step < 100; ++step) job.network().step();
    EXPECT_EQ(job.bytes_on_their_way(), (Bytes{0, 0})) << a.name << ": all has arrived";
    EXPECT_EQ(job.finish(), "");
  }
}

class HundredsOfRanks : public testing::TestWithParam<int> {};

// Every rank sends to every other: as many messages as pairs of ranks, so one run is enough.
bool each_to_each(const Algorithm& a) { return a.name == "one_shot" || (a.name == "direct" && !has_root(a.operation)); }

TEST_P(HundredsOfRanks, every_algorithm) {
  const int ranks = GetParam();
  for (std::uint64_t seed = 1; seed <= (ranks > 128 ? 1 : 3); ++seed) {
    FakeJob job(ranks, seed, 10);
    for (const Algorithm& a : algorithms()) {  // one by one: to poll a waiting one takes as long as a moving one
      if (each_to_each(a) && (ranks > 128 || seed > 1)) continue;
      Case one{.operation = a.operation, .ranks = ranks, .count = 3, .root = int(seed * 77) % ranks};
      one.in_place = seed == 2 || ranks == 200;
      job.add(a, one, 0);
      if (!each_to_each(a) && ranks < 256) job.add(a, {.operation = a.operation, .ranks = ranks, .count = 1}, 1);
      ASSERT_EQ(job.finish(), "") << a.name << ", " << ranks << " ranks, seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, HundredsOfRanks, testing::Values(128, 200, 256));

}  // namespace
}  // namespace railweave::collectives_test
