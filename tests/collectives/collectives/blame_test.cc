// Who is named when a rank is lost, or does not come, where rank 0 keeps the store: it goes with rank 0.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "processes.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::DataType;
using collectives::Group;
using collectives::Reduction;

constexpr int kRanks = 4;

// Says its port if it keeps the store, and "ready"; then sums until that fails.
std::string sum_until_it_fails(int rank, std::uint16_t port, const Process::Say& say) {
  auto group = join_job({"doomed", rank, kRanks, 20s}, port, [&](std::uint16_t served) {
    if (port == 0) say(std::to_string(served));
  });
  if (!group.ok()) return group.status().message();
  say("ready");
  std::vector<float> data(200'000, 1);
  std::string said = "ok";
  while (said == "ok")
    said = outcome((*group)->all_reduce(data.data(), data.data(), data.size(), DataType::float32, Reduction::max), 20s);
  return said;
}

// `doomed` is killed in mid-operation.
void one_round(int doomed, Nanos after, const char* algorithms) {
  ::setenv("RAILWEAVE_ALGO", algorithms, 1);
  std::vector<std::unique_ptr<Process>> ranks;
  std::uint16_t port = 0;
  for (int r = 0; r < kRanks; ++r) {
    ranks.push_back(
        std::make_unique<Process>([&](const Process::Say& say) { return sum_until_it_fails(r, port, say); }));
    if (r == 0) port = std::uint16_t(std::atoi(ranks[0]->line().c_str()));
    ASSERT_NE(port, 0);
  }
  for (auto& rank : ranks) ASSERT_EQ(rank->line(), "ready");
  std::this_thread::sleep_for(after);
  ranks[std::size_t(doomed)]->kill();
  const std::string expected = "rank " + std::to_string(doomed) + " is lost";
  for (int r = 0; r < kRanks; ++r) {
    if (r == doomed) continue;
    const std::string said = ranks[std::size_t(r)]->line();
    EXPECT_NE(said.find(expected), std::string::npos)
        << "rank " << doomed << " was killed, rank " << r << " said: " << said;
  }
}

TEST(Blame, a_killed_rank__is_named_by_all_the_others_every_time) {
  constexpr int kRounds = 40, kAtLeast = 8;
  const TimePoint start = now();
  for (int round = 0; round < kRounds && (round < kAtLeast || now() - start < 15s); ++round) {
    SCOPED_TRACE(round);
    one_round(round % kRanks, Nanos(1ms) * (round * 7 % 23), round / kRanks % 2 == 0 ? "" : "ring");
  }
  ::unsetenv("RAILWEAVE_ALGO");
}

TEST(Blame, a_rank_that_never_comes__is_named_by_all_the_others) {
  constexpr int kMissing = 2;
  const auto body = [](int rank, std::uint16_t port, const Process::Say& say) -> std::string {
    auto group =
        join_job({"incomplete", rank, kRanks, 4s}, port, [&](std::uint16_t served) { say(std::to_string(served)); });
    return group.ok() ? "ok" : group.status().message();
  };
  std::vector<std::unique_ptr<Process>> ranks;
  std::uint16_t port = 0;
  for (const int r : {0, 1, 3}) {
    ranks.push_back(std::make_unique<Process>([&](const Process::Say& say) { return body(r, port, say); }));
    port = std::uint16_t(std::atoi(ranks.back()->line().c_str()));
    ASSERT_NE(port, 0);
    std::this_thread::sleep_for(200ms);  // rank 0's time is up first
  }
  for (auto& rank : ranks) {
    const std::string said = rank->line();
    EXPECT_NE(said.find("rank " + std::to_string(kMissing) + " did not come"), std::string::npos) << said;
  }
}

// The ranks of two jobs that were given the same address and port.
class TwoJobs : public ::testing::Test {
 protected:
  std::shared_ptr<collectives::Store> store(bool keeps) {
    auto opened = collectives::tcp_store("127.0.0.1", port_, keeps, 20s, &port_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  // Errors as text.
  std::string join(int rank, int size, std::shared_ptr<collectives::Store> at) {
    Config config;
    config.interfaces = "=lo";
    config.stats_dir.clear();
    auto group = Group::create(*Engine::start(config), std::move(at), {"job", rank, size, 20s});
    if (group.ok()) groups_[std::size_t(rank)] = *group;
    return group.ok() ? "ok" : group.status().message();
  }

  std::uint16_t port_ = 0;
  std::array<std::shared_ptr<Group>, 3> groups_;
};

constexpr const char* kTwice = "rank 1 is there already";

TEST_F(TwoJobs, a_second_rank_of_a_number__is_refused_and_harms_nobody) {
  const auto first = store(true);
  std::thread other([&] { EXPECT_EQ(join(1, 2, store(false)), "ok"); });
  EXPECT_EQ(join(0, 2, first), "ok");
  other.join();
  EXPECT_NE(collectives::tcp_store("127.0.0.1", port_, true, 20s).status().message().find("another job"),
            std::string::npos);
  const auto late = join(1, 2, store(false));
  EXPECT_NE(late.find(kTwice), std::string::npos) << late;
  const auto theirs = groups_[1]->barrier();
  EXPECT_EQ(outcome(groups_[0]->barrier()), "ok");
  EXPECT_EQ(outcome(theirs), "ok");
}

TEST_F(TwoJobs, a_stranger_that_came_first__mixes_with_nobody) {
  const auto kept = store(true);
  const auto strangers = store(false), own = store(false);
  std::string said[2];
  std::thread rank0([&] { said[0] = join(0, 3, kept); });
  std::thread stranger([&] { said[1] = join(1, 3, strangers); });
  EXPECT_TRUE(own->get("job/rank/0", 20s).ok());
  EXPECT_TRUE(own->get("job/rank/1", 20s).ok());
  const std::string late = join(1, 3, own);
  EXPECT_NE(late.find(kTwice), std::string::npos) << late;
  rank0.join();
  stranger.join();
  for (const std::string& text : said) EXPECT_NE(text.find(kTwice), std::string::npos) << text;
}

// ------------------------------------------------------------------------------------------------------------ the
// store

TEST(TcpStore, what_was_told__outlives_the_store) {
  std::uint16_t port = 0;
  auto kept = std::move(*collectives::tcp_store("127.0.0.1", 0, true, 20s, &port));
  auto one = std::move(*collectives::tcp_store("127.0.0.1", port, false, 20s));
  auto two = std::move(*collectives::tcp_store("127.0.0.1", port, false, 20s));
  ASSERT_FALSE(two->get("nothing", 0s).ok());  // it is connected
  ASSERT_TRUE(one->tell("why", "because").ok());
  ASSERT_TRUE(one->tell("who", "me").ok());
  ASSERT_TRUE(one->remove("who").ok());
  ASSERT_TRUE(one->set("what", "this").ok());
  EXPECT_EQ(two->get("who", 0s).status().code(), Code::timed_out);
  kept.reset();
  auto why = two->get("why", 0s);
  ASSERT_TRUE(why.ok()) << why.status().message();
  EXPECT_EQ(*why, "because");
  EXPECT_EQ(two->get("what", 0s).status().code(), Code::cancelled);
}

TEST(TcpStore, a_claim__is_free_again_when_its_holder_is_gone) {
  std::uint16_t port = 0;
  auto kept = std::move(*collectives::tcp_store("127.0.0.1", 0, true, 20s, &port));
  auto one = std::move(*collectives::tcp_store("127.0.0.1", port, false, 20s));
  EXPECT_TRUE(one->claim("seat").ok());
  EXPECT_TRUE(one->claim("seat").ok());
  EXPECT_EQ(kept->claim("seat").code(), Code::exhausted);
  one.reset();
  for (int i = 0; i < 2000 && !kept->claim("seat").ok(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(kept->claim("seat").ok());
}

}  // namespace
}  // namespace railweave::collectives_test
