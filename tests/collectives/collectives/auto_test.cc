// Groups under RAILWEAVE_SCHEDULE=auto: the agreements that they run by themselves do not disturb the operations of
// their callers.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/trace.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::DataType;
using collectives::Group;
using collectives::Reduction;
using collectives::WorkPtr;

constexpr std::size_t kCount = 20'000;  // elements of a rank's part: 80 KB, enough for the scheduler to count
constexpr int kOperations = 6;          // of a step
constexpr int kUntilSettled = 75;       // steps: 44 until the sequence is found, 23 of learning, and some

Ranks start(int size) {
  ::setenv("RAILWEAVE_SCHEDULE", "auto", 1);
  Ranks ranks(size);
  ::unsetenv("RAILWEAVE_SCHEDULE");
  return ranks;
}

// One rank's steps: urgent all-gathers and reduce-scatters in turn.
class Steps {
 public:
  explicit Steps(Group& group)
      : group_(group), part_(kCount, float(group.rank() + 1)), whole_(kCount * std::size_t(group.size())) {
    std::iota(whole_.begin(), whole_.end(), float(group.rank()));
  }

  // Issues one step. finish() waits for it.
  void issue() {
    for (int i = 0; i < kOperations / 2; ++i) {
      gathered_.emplace_back(whole_.size());
      works_.push_back(
          group_.all_gather(part_.data(), gathered_.back().data(), kCount, DataType::float32, {Priority::urgent}));
      reduced_.emplace_back(kCount);
      works_.push_back(
          group_.reduce_scatter(whole_.data(), reduced_.back().data(), kCount, DataType::float32, Reduction::max));
    }
  }
  void finish() {
    for (const auto& work : works_) EXPECT_EQ(outcome(work), "ok");
    for (const auto& output : gathered_)
      for (std::size_t r = 0; r < std::size_t(group_.size()); ++r) ASSERT_EQ(output[r * kCount + r], float(r + 1));
    const float most = whole_[std::size_t(group_.rank()) * kCount] - float(group_.rank()) + float(group_.size() - 1);
    for (const auto& output : reduced_) ASSERT_EQ(output[0], most);
    works_.clear();
    gathered_.clear();
    reduced_.clear();
  }

 private:
  Group& group_;
  std::vector<float> part_, whole_;
  std::vector<std::vector<float>> gathered_, reduced_;
  std::vector<WorkPtr> works_;
};

// The ranks agree once on leads and once on times. After an evaluation they know the sequence, and agree on nothing.
TEST(Auto, steps__are_right_before_while_and_after_it_learns) {
  Ranks ranks = start(3);
  ASSERT_TRUE(trace::start(100'000));
  ranks.run([](int, Group& group) {
    Steps steps(group);
    for (int round = 0; round < 2; ++round) {
      for (int step = 0; step < kUntilSettled; ++step) {
        steps.issue();
        steps.finish();
      }
      std::vector<float> other(3 * kCount);  // an evaluation
      EXPECT_EQ(outcome(group.all_reduce(other.data(), other.data(), other.size(), DataType::float32, Reduction::sum)),
                "ok");
    }
  });
  std::map<std::uint64_t, int> small;  // by bytes
  for (const trace::Record& r : trace::stop().records)
    if (r.kind == trace::Kind::operation && r.bytes < 1000) ++small[r.bytes];
  EXPECT_EQ(small, (std::map<std::uint64_t, int>{{2 * 8, 3}, {3 * 8, 3}}))
      << "the sequence is an all-gather and a reduce-scatter";
}

// A group that is set to another policy tries nothing and agrees on nothing any more.
TEST(Auto, another_policy__ends_it) {
  Ranks ranks = start(2);
  ASSERT_TRUE(trace::start(100'000));
  ranks.run([](int, Group& group) {
    Steps steps(group);
    for (int step = 0; step < 30; ++step) steps.issue();
    steps.finish();
    EXPECT_EQ(group.schedule_by("automatic").code(), Code::invalid_config);
    EXPECT_TRUE(group.schedule_by("window:2").ok());
    for (int step = 0; step < kUntilSettled; ++step) {
      steps.issue();
      steps.finish();
    }
  });
  for (const trace::Record& r : trace::stop().records)
    EXPECT_FALSE(r.kind == trace::Kind::operation && r.bytes < 1000) << r.bytes;
}

// Calls run far ahead of the agreements of the ranks, and so do the messages that are issued with them.
TEST(Auto, operations_issued_before_the_ranks_agree_wait_and_go_on) {
  Ranks ranks = start(2);
  ranks.run([](int rank, Group& group) {
    Steps steps(group);
    std::vector<WorkPtr> messages;
    std::vector<int> sent(kUntilSettled, 7), received(kUntilSettled);
    for (std::size_t step = 0; step < kUntilSettled; ++step) {
      steps.issue();
      messages.push_back(rank == 0 ? group.send(&sent[step], sizeof(int), 1)
                                   : group.recv(&received[step], sizeof(int), 0));
    }
    for (const auto& message : messages) EXPECT_EQ(outcome(message), "ok");
    steps.finish();
    if (rank == 1) {
      EXPECT_EQ(received, sent);
    }
  });
}

// Rank 1 takes part in the agreement only after it received a message that rank 0 sends after the agreement began.
TEST(Auto, a_message__is_not_held_up_by_what_is_to_be_agreed_on) {
  Ranks ranks = start(2);
  ranks.run([](int rank, Group& group) {
    Steps steps(group);
    int value = rank == 0 ? 7 : 0;
    if (rank == 1) {
      EXPECT_EQ(outcome(group.recv(&value, sizeof value, 0)), "ok");
    }
    for (int step = 0; step < kUntilSettled; ++step) steps.issue();
    if (rank == 0) {
      EXPECT_EQ(outcome(group.send(&value, sizeof value, 1)), "ok");
    }
    steps.finish();
    EXPECT_EQ(value, 7);
  });
}

// Rank 1 issues all but the last operations and leaves: operations that wait for the agreement end with the group.
TEST(Auto, a_rank_that_leaves_before_the_ranks_agree__ends_what_waits) {
  Ranks ranks = start(2);
  std::atomic<bool> seen{false};
  ranks.run([&](int rank, Group& group) {
    const std::vector<float> data(kCount);
    std::vector<std::vector<float>> outputs;
    std::vector<WorkPtr> works;
    // A sequence of one operation is found after 257, and two more are steps of it. The ranks agree for the first time
    // just before the next one.
    const int many = 260, count = rank == 0 ? 2 * many : many - 2;
    for (int i = 0; i < count; ++i)
      works.push_back(group.all_reduce(data.data(), outputs.emplace_back(kCount).data(), kCount, DataType::float32,
                                       Reduction::max));
    for (int i = 0; i < many - 2; ++i) EXPECT_EQ(outcome(works[std::size_t(i)]), "ok");
    if (rank == 1) {
      while (!seen) std::this_thread::sleep_for(1ms);
      return ranks.leave(1);
    }
    seen = true;
    for (std::size_t i = many - 2; i < works.size(); ++i) EXPECT_NE(outcome(works[i], 10s), "ok");
  });
}

// Two groups over one engine, of which one learns. The window in force is not that of the group that came last.
TEST(Auto, a_second_group_with_a_window__goes_on_beside_it) {
  Ranks ranks = start(2);
  ::setenv("RAILWEAVE_SCHEDULE", "window:2", 1);
  const auto others = ranks.another("second");
  ::unsetenv("RAILWEAVE_SCHEDULE");
  ranks.run([&](int rank, Group& one) {
    Steps steps(one), second(*others[std::size_t(rank)]);
    for (int step = 0; step < kUntilSettled; ++step) {
      steps.issue();
      second.issue();
      steps.finish();
      second.finish();
    }
  });
}

}  // namespace
}  // namespace railweave::collectives_test
