#include "collectives/messages.h"

#include <gtest/gtest.h>

#include <numeric>

#include "collectives/group.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using collectives::Group;
using collectives::kAnySource;
using collectives::WorkPtr;

std::vector<int> numbers(std::size_t count, int from) {
  std::vector<int> v(count);
  std::iota(v.begin(), v.end(), from);
  return v;
}

TEST(Messages, send__short_and_long_in_any_order_of_tags) {
  Ranks ranks(2);
  ranks.run([&](int rank, Group& group) {
    const std::vector<std::size_t> counts{0, 1, 2048, 2049, 1'000'000, 3};
    std::vector<std::vector<int>> data;
    std::vector<WorkPtr> works;
    for (std::size_t k = 0; k < counts.size(); ++k) data.push_back(rank == 0 ? numbers(counts[k], int(k)) : std::vector<int>(counts[k] + 5));
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const std::size_t i = rank == 0 ? k : counts.size() - 1 - k;  // the receiver asks in the opposite order
      auto& d = data[i];
      works.push_back(rank == 0 ? group.send(d.data(), d.size() * sizeof(int), 1, unsigned(i))
                                : group.recv(d.data(), d.size() * sizeof(int), 0, unsigned(i)));
    }
    for (const WorkPtr& work : works) EXPECT_EQ(outcome(work), "ok");
    if (rank == 0) return;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      EXPECT_EQ(works[counts.size() - 1 - i]->bytes(), counts[i] * sizeof(int));
      EXPECT_EQ(works[counts.size() - 1 - i]->source(), 0);
      data[i].resize(counts[i]);
      EXPECT_EQ(data[i], numbers(counts[i], int(i)));
    }
  });
}

TEST(Messages, recv__from_anyone_tells_who) {
  constexpr int kRanks = 4, kEach = 50;
  Ranks ranks(kRanks);
  ranks.run([&](int rank, Group& group) {
    if (rank != 0) {
      for (int k = 0; k < kEach; ++k) {
        const auto data = numbers(std::size_t(k % 2 ? 3 : 5000), rank * 100'000 + k);
        EXPECT_EQ(outcome(group.send(data.data(), data.size() * sizeof(int), 0)), "ok");
      }
      return;
    }
    std::vector<int> heard(kRanks, 0), data(6000);
    for (int k = 0; k < (kRanks - 1) * kEach; ++k) {
      auto work = group.recv(data.data(), data.size() * sizeof(int), kAnySource);
      ASSERT_EQ(outcome(work), "ok");
      const int from = work->source(), number = heard[std::size_t(from)]++;
      ASSERT_EQ(work->bytes(), sizeof(int) * (number % 2 ? 3 : 5000));
      ASSERT_EQ(data[1], from * 100'000 + number + 1);
    }
  });
}

TEST(Messages, recv__too_small_is_an_error_and_no_more) {
  Ranks ranks(2);
  ranks.run([&](int rank, Group& group) {
    int value[4] = {1, 2, 3, 4};
    auto work = rank == 0 ? group.send(value, 16, 1) : group.recv(value, 8, 0);
    EXPECT_EQ(outcome(work).find("16 bytes") != std::string::npos, rank == 1);
    EXPECT_EQ(outcome(group.barrier()), "ok");
  });
}

}  // namespace
}  // namespace railweave::collectives_test
