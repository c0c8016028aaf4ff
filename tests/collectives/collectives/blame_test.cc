// Which rank the others name when a rank is lost or does not come. Rank 0 keeps the store, which ends with rank 0.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "processes.h"
#include "ranks.h"
#include "tests/sanitizers.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::DataType;
using collectives::Group;
using collectives::Reduction;

constexpr int kRanks = 4;

// A rank's memory for one operation after another. Each operation has other numbers, so data that was read too late or
// too early shows.
struct Toil {
  Group* group = nullptr;
  std::vector<std::int32_t> in, out;
  int k = 0;  // which operation

  // Each runs an operation. Returns "ok", or what went wrong.
  std::string all_reduce(std::size_t count);
  std::string reduce_scatter(std::size_t count);
  std::string broadcast(std::size_t count);
  std::string all_gather(std::size_t count);

 private:
  void give(std::size_t in_count, std::size_t out_count, int number) {
    in.assign(in_count, number);
    out.assign(out_count, -1);
  }
  std::string after(const collectives::WorkPtr& work, int everywhere) const {
    const std::string said = outcome(work, 20s);
    return said == "ok" && std::ranges::count(out, everywhere) != std::ptrdiff_t(out.size()) ? "a wrong result" : said;
  }
  int sum() const { return kRanks * k + kRanks * (kRanks - 1) / 2; }
};

std::string Toil::all_reduce(std::size_t count) {
  give(count, count, k + group->rank());
  return after(group->all_reduce(in.data(), out.data(), count, DataType::int32, Reduction::sum), sum());
}

std::string Toil::reduce_scatter(std::size_t count) {
  give(kRanks * count, count, k + group->rank());
  return after(group->reduce_scatter(in.data(), out.data(), count, DataType::int32, Reduction::sum), sum());
}

std::string Toil::broadcast(std::size_t count) {
  give(count, count, k);
  return after(group->broadcast(in.data(), out.data(), count, DataType::int32, k % kRanks), k);
}

std::string Toil::all_gather(std::size_t count) {
  give(count, kRanks * count, k + group->rank());
  const std::string said = outcome(group->all_gather(in.data(), out.data(), count, DataType::int32), 20s);
  for (std::size_t i = 0; said == "ok" && i < out.size(); ++i)
    if (out[i] != k + int(i / count)) return "a wrong result";
  return said;
}

// What the ranks repeat until one is killed.
struct Doing {
  const char* name;
  bool shared_memory;
  int rounds;              // at most
  Nanos limit;             // after which no further round begins
  const char* algorithms;  // RAILWEAVE_ALGO of every second four rounds; a named algorithm does not use the exchange
  std::string (*once)(Toil& toil);
};
void PrintTo(const Doing& doing, std::ostream* out) { *out << doing.name; }

constexpr const char* kOffered = "shm_offered";

const Doing kDoings[] = {
    {"tcp", false, 40, 15s, "ring", [](Toil& toil) { return toil.all_reduce(200'000); }},
    // On the exchange: contributions within one cache line, larger ones, and operations for which not all ranks wait.
    {"shm_small", true, 24, 6s, "",
     [](Toil& toil) { return toil.k % 3 == 2 ? toil.broadcast(1000) : toil.all_reduce(toil.k % 3 == 0 ? 5 : 1000); }},
    {"shm_pieces", true, 24, 6s, "", [](Toil& toil) { return toil.all_reduce(200'000); }},
    // 1 MiB of output: the second operation is offered, and later ones are if offers prove faster than copies.
    {kOffered, true, 24, 6s, "", [](Toil& toil) { return toil.all_gather(65'536); }},
    // 4 MiB, of operations that the exchange does not cut into pieces.
    {"shm_streams", true, 24, 6s, "ring",
     [](Toil& toil) { return toil.k % 2 == 0 ? toil.reduce_scatter(262'144) : toil.broadcast(1'048'576); }},
};

// Returns the number of pidfds: one for each other rank if the ranks read each other's memory.
int pidfds() {
  int n = 0;
  std::error_code gone;  // of an entry that is closed by now, such as this loop's own
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    if (std::filesystem::read_symlink(entry.path(), gone).string().find("pidfd") != std::string::npos) ++n;
  return n;
}

constexpr const char* kReady = "ready";
constexpr const char* kReadyToCopy = "ready, and no rank reads another's memory";

// Sends its port if it keeps the store, and a line when it is ready. Then repeats `doing` until an operation fails, and
// returns why.
std::string toil_until_it_fails(const Doing& doing, int rank, std::uint16_t port, const Process::Say& say) {
  Toil toil;
  const auto served = [&](std::uint16_t at) {
    if (port == 0) say(std::to_string(at));
  };
  auto group = join_job({"doomed", rank, kRanks, 20s}, port, served, doing.shared_memory);
  if (!group.ok()) return group.status().message();
  toil.group = group->get();
  say(pidfds() == kRanks - 1 ? kReady : kReadyToCopy);
  for (;; ++toil.k)
    if (std::string said = doing.once(toil); said != "ok") return said;
}

class BlameWhile : public testing::TestWithParam<Doing> {
 protected:
  // Kills `doomed` in mid-operation, and checks that each other rank names it.
  void one_round(int doomed, Nanos after);

  bool copied_ = false;  // no rank could read another's memory
};
INSTANTIATE_TEST_SUITE_P(Doing, BlameWhile, testing::ValuesIn(kDoings),
                         [](const auto& doing) { return doing.param.name; });

void BlameWhile::one_round(int doomed, Nanos after) {
  std::vector<std::unique_ptr<Process>> ranks;
  std::uint16_t port = 0;
  for (int r = 0; r < kRanks; ++r) {
    ranks.push_back(std::make_unique<Process>(
        [&](const Process::Say& say) { return toil_until_it_fails(GetParam(), r, port, say); }));
    if (r == 0) port = std::uint16_t(std::atoi(ranks[0]->line().c_str()));
    ASSERT_NE(port, 0);
  }
  for (auto& rank : ranks) {
    const std::string said = rank->line();
    ASSERT_TRUE(said == kReady || said == kReadyToCopy) << said;
    copied_ |= said == kReadyToCopy;
  }
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

TEST_P(BlameWhile, a_killed_rank__is_named_by_all_the_others_every_time) {
  constexpr int kAtLeast = kTsan ? kRanks : 2 * kRanks;  // a round takes seconds under tsan
  const TimePoint start = now();
  for (int round = 0; round < GetParam().rounds && (round < kAtLeast || now() - start < GetParam().limit); ++round) {
    SCOPED_TRACE(round);
    ::setenv("RAILWEAVE_ALGO", round / kRanks % 2 == 0 ? "" : GetParam().algorithms, 1);
    one_round(round % kRanks, Nanos(1ms) * (round * 7 % 23));
    if (HasFailure()) break;
  }
  ::unsetenv("RAILWEAVE_ALGO");
  const bool offers = GetParam().name == std::string_view(kOffered);
  if (offers && copied_) GTEST_SKIP() << "no process reads another's memory here: all was copied";
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
    std::this_thread::sleep_for(200ms);  // so that rank 0 times out first
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
  // Joins the group as that rank, with an engine of its own. Returns "ok", or the error's message.
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

TEST_F(TwoJobs, a_rank_of_another_job_that_came_first_joins_no_group) {
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

// ----------------------------------------------------------------------------------------------------------- the store

TEST(TcpStore, published_values_outlive_the_store) {
  std::uint16_t port = 0;
  auto kept = std::move(*collectives::tcp_store("127.0.0.1", 0, true, 20s, &port));
  auto one = std::move(*collectives::tcp_store("127.0.0.1", port, false, 20s));
  auto two = std::move(*collectives::tcp_store("127.0.0.1", port, false, 20s));
  ASSERT_FALSE(two->get("nothing", 0s).ok());  // `two` is connected
  ASSERT_TRUE(one->publish("why", "because").ok());
  ASSERT_TRUE(one->publish("who", "me").ok());
  ASSERT_TRUE(one->remove("who").ok());
  ASSERT_TRUE(one->set("what", "this").ok());
  EXPECT_EQ(two->get("who", 0s).status().code(), Code::timed_out);
  kept.reset();
  auto why = two->get("why", 0s);
  ASSERT_TRUE(why.ok()) << why.status().message();
  EXPECT_EQ(*why, "because");
  EXPECT_EQ(two->get("what", 0s).status().code(), Code::cancelled);
}

}  // namespace
}  // namespace railweave::collectives_test
