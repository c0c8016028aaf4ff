#include "collectives/group/messages.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "collectives/group/group.h"
#include "fake_network.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::Group;
using collectives::Hints;
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
    for (std::size_t k = 0; k < counts.size(); ++k)
      data.push_back(rank == 0 ? numbers(counts[k], int(k)) : std::vector<int>(counts[k] + 5));
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const std::size_t i = rank == 0 ? k : counts.size() - 1 - k;  // the receiver posts in the opposite order
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

// Two ranks in one thread over a FakeNetwork, which records posts and calls of expedite().
TEST(Messages, bodies_keep_send_order_and_are_expedited_behind_envelopes) {
  FakeNetwork network(1);
  std::vector<Handle> handles(2);
  std::vector<std::unique_ptr<collectives::PeerStreams>> peers;
  std::vector<std::shared_ptr<Engine>> engines{network.engine(), network.engine()};
  std::vector<std::unique_ptr<Listener>> listeners;
  for (int r = 0; r < 2; ++r)
    listeners.push_back(std::move(*engines[std::size_t(r)]->listen(0, handles[std::size_t(r)])));
  std::vector<std::unique_ptr<collectives::Messages>> ends;
  const auto done = [](collectives::OperationWork& work, Status status, int source, std::size_t bytes) {
    (void)work.finish(std::move(status), source, bytes);
  };
  for (int r = 0; r < 2; ++r) {
    peers.push_back(std::make_unique<collectives::PeerStreams>(engines[std::size_t(r)], r, handles,
                                                               std::move(listeners[std::size_t(r)])));
    ends.push_back(std::make_unique<collectives::Messages>(*peers.back(), 2, 0, done));
  }
  auto runner = collectives::Runner::shared();
  ASSERT_TRUE(runner.ok());
  const auto origin =
      std::make_shared<const collectives::WorkOrigin>(collectives::WorkOrigin{*runner, {}, nullptr, "test"});
  const std::vector<int> data = numbers(50'000, 0);
  std::vector<std::vector<int>> got(2, std::vector<int>(data.size()));
  std::vector<std::shared_ptr<collectives::OperationWork>> works;
  for (std::uint32_t i = 0; i < 2; ++i) {
    collectives::Message send{
        .sends = true, .peer = 1, .tag = i, .source = data.data(), .bytes = data.size() * sizeof(int), .order = 5 + i};
    collectives::Message receive{.peer = 0, .tag = i, .target = got[i].data(), .bytes = data.size() * sizeof(int)};
    for (const auto& [end, message] : {std::pair(0, send), std::pair(1, receive)}) {
      works.push_back(std::make_shared<collectives::OperationWork>(origin));
      ends[std::size_t(end)]->add(works.back(), message);
    }
  }
  EXPECT_EQ(works[0]->wait(Nanos(0)).code(), Code::timed_out);
  for (int steps = 0; steps < 10'000 && (ends[0]->busy() || ends[1]->busy()); ++steps, network.step())
    for (int r = 0; r < 2; ++r)
      ASSERT_TRUE(peers[std::size_t(r)]->advance().ok() && ends[std::size_t(r)]->advance().ok());
  EXPECT_EQ(got, (std::vector{data, data}));
  using Numbers = std::vector<std::uint64_t>;
  int bodies = 0, envelopes = 0;
  for (const FakeNetwork::Orders& stream : network.orders()) {
    if (stream.posted == Numbers{0, 5, 6}) {  // the first is its hello
      ++bodies;
      ASSERT_FALSE(stream.expedited.empty());
      for (const std::uint64_t upto : stream.expedited) EXPECT_EQ(upto, 5u);
    } else {
      ++envelopes;
      EXPECT_EQ(stream.posted, Numbers(stream.posted.size(), 0));
      ASSERT_FALSE(stream.expedited.empty());
      for (const std::uint64_t upto : stream.expedited) EXPECT_EQ(upto, 0u);
    }
  }
  EXPECT_EQ(bodies, 1);
  EXPECT_EQ(envelopes, 2) << "offers and clears";
}

TEST(Messages, recv__from_any_source_names_the_sender) {
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

// The message does not fit into its offer, so the sender waits for a clear, from a receiver that waits for nothing
// else.
TEST(Messages, recv__too_small_for_a_long_message_lets_its_sender_go) {
  Ranks ranks(2);
  ranks.run([&](int rank, Group& group) {
    std::vector<int> data(25'000);
    auto work = rank == 0 ? group.send(data.data(), 100'000, 1) : group.recv(data.data(), 8, 0);
    const std::string told = outcome(work, 10s);
    EXPECT_NE(told.find(rank == 0 ? "ok" : "100000 bytes"), std::string::npos) << told;
    if (rank == 1) std::this_thread::sleep_for(200ms);  // nothing else makes this rank drive
  });
}

// Rank 1 first claims the last of rank 0's many messages, and sends a long one of its own. Neither waits for the
// unclaimed ones.
TEST(Messages, send__unclaimed_messages_hold_up_no_clears_and_no_sends) {
  constexpr std::size_t kSends = 1000, kCount = 2000;
  Ranks ranks(2);
  ranks.run([&](int rank, Group& group) {
    std::vector<int> data = rank == 0 ? numbers(kCount, 0) : std::vector<int>(kSends * kCount),
                     longer = numbers(100'000, rank), last(1, 7);
    std::vector<WorkPtr> works;
    if (rank == 0) {
      for (std::size_t k = 0; k < kSends; ++k)
        works.push_back(group.send(data.data(), kCount * sizeof(int), 1, unsigned(k)));
      works.push_back(group.send(last.data(), sizeof(int), 1, kSends));
      EXPECT_EQ(outcome(group.recv(longer.data(), longer.size() * sizeof(int), 1)), "ok");
      EXPECT_EQ(longer, numbers(100'000, 1));
    } else {
      works.push_back(group.recv(last.data(), sizeof(int), 0, kSends));
      EXPECT_EQ(outcome(group.send(longer.data(), longer.size() * sizeof(int), 0)), "ok");
      for (std::size_t k = 0; k < kSends; ++k)
        works.push_back(group.recv(&data[k * kCount], kCount * sizeof(int), 0, unsigned(kSends - 1 - k)));
    }
    for (const WorkPtr& work : works) EXPECT_EQ(outcome(work), "ok");
    EXPECT_EQ(last[0], 7);
    EXPECT_EQ(data.back(), int(kCount) - 1);
  });
}

TEST(Messages, recv__behind_more_than_is_kept_is_an_error_that_names_it) {
  std::vector<int> memory[] = {std::vector<int>(2000), std::vector<int>(2000)};  // outlives sends that never end
  Ranks ranks(2);
  ranks.run([&](int rank, Group& group) {
    std::vector<int>& data = memory[rank];
    std::vector<WorkPtr> works;
    if (rank == 0)
      for (int k = 0; k < 10'000; ++k) works.push_back(group.send(data.data(), 8000, 1));
    auto last = rank == 0 ? group.send(data.data(), 4, 1, 9) : group.recv(data.data(), 4, 0, 9);
    if (rank == 0) return;
    const std::string told = outcome(last);
    EXPECT_NE(told.find("rank 0 sent"), std::string::npos) << told;
    EXPECT_NE(told.find("tag 9"), std::string::npos) << told;
  });
}

TEST(Messages, send__classes_differ_and_match_in_the_order_they_were_sent) {
  Ranks ranks(2);
  ranks.run([&](int rank, Group& group) {
    constexpr int kSends = 30;
    std::vector<std::vector<int>> data;
    std::vector<WorkPtr> works;
    for (int k = 0; k < kSends; ++k) {
      const std::size_t count = k % 4 == 0 ? 3 : 50'000;
      data.push_back(rank == 0 ? numbers(count, k) : std::vector<int>(count));
      Hints hints;
      hints.priority = Priority(rank == 0 ? k % kPriorities : 0);
      works.push_back(rank == 0 ? group.send(data.back().data(), count * sizeof(int), 1, 0, hints)
                                : group.recv(data.back().data(), count * sizeof(int), 0, 0, hints));
    }
    for (const WorkPtr& work : works) EXPECT_EQ(outcome(work), "ok");
    for (int k = 0; k < kSends; ++k) EXPECT_EQ(data[std::size_t(k)], numbers(data[std::size_t(k)].size(), k));
  });
}

// Rank 1 has sent a message before it leaves, and rank 3 none. Rank 0 waits for messages of rank 2.
TEST(Messages, ranks_that_leave_fail_only_operations_that_need_them) {
  Ranks ranks(4);
  std::atomic<bool> go{false}, sent{false};
  const auto wait_for = [](const std::atomic<bool>& what) {
    for (int i = 0; i < 6000 && !what; ++i) std::this_thread::sleep_for(10ms);
  };
  ranks.run([&](int rank, Group& group) {
    int value = rank;
    if (rank == 1) {
      EXPECT_EQ(outcome(group.send(&value, sizeof value, 0)), "ok");
      sent = true;
    }
    if (rank == 2) {
      wait_for(go);
      EXPECT_EQ(outcome(group.send(&value, sizeof value, 0, 7)), "ok");
      EXPECT_EQ(outcome(group.send(&value, sizeof value, 0, 8)), "ok");
    }
    if (rank != 0) return;
    EXPECT_EQ(outcome(group.recv(&value, sizeof value, 1)), "ok");
    int of_two = 0, of_anyone = 0;
    const WorkPtr from_two = group.recv(&of_two, sizeof of_two, 2, 7),
                  from_anyone = group.recv(&of_anyone, sizeof of_anyone, kAnySource, 8);
    EXPECT_EQ(from_two->wait(1s).code(), Code::timed_out);
    wait_for(sent);
    ranks.leave(1);
    ranks.leave(3);
    EXPECT_EQ(from_two->wait(2s).code(), Code::timed_out);
    EXPECT_EQ(from_anyone->wait(0s).code(), Code::timed_out);
    go = true;
    EXPECT_EQ(outcome(from_two), "ok");
    EXPECT_EQ(outcome(from_anyone), "ok");
    EXPECT_EQ(of_two, 2);
    EXPECT_EQ(from_anyone->source(), 2);
    const std::string said = outcome(group.recv(&value, sizeof value, 1));
    EXPECT_NE(said.find("rank 1 is lost"), std::string::npos) << said;
  });
}

TEST(Messages, recv__from_anyone_fails_when_nobody_is_left) {
  Ranks ranks(3);
  int value = 0;
  const WorkPtr work = ranks.group(0).recv(&value, sizeof value, kAnySource);
  EXPECT_EQ(work->wait(1s).code(), Code::timed_out);
  ranks.leave(1);
  EXPECT_EQ(work->wait(1s).code(), Code::timed_out);
  ranks.leave(2);
  const std::string said = outcome(work);
  EXPECT_NE(said.find("is lost"), std::string::npos) << said;
}

}  // namespace
}  // namespace railweave::collectives_test
