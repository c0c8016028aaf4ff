// Many groups, one after the other and at once: nothing is left behind, and a killed process is named.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "collectives/group/group.h"
#include "ranks.h"
#include "tests/engine/account_descriptors.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::DataType;
using collectives::Group;
using collectives::Reduction;
using collectives::Store;
using collectives::WorkPtr;

int entries(const std::string& folder) {
  int n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

// Returns the number of open descriptors, without those of rails' accounts.
int open_descriptors() {
  int n = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    n += !is_of_an_account(entry.path().filename().c_str());
  return n;
}

// Returns the number of mapped memfds, without those of rails' accounts. A mapping outlives its descriptor.
int shared_mappings() {
  int n = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    n += line.find("/memfd:") != std::string::npos && line.find("/memfd:railweave-account") == std::string::npos;
  return n;
}

std::string sum_ones(Group& group, std::size_t count) {
  std::vector<int> data(count, 1);
  const std::string said = outcome(group.all_reduce(data.data(), data.data(), count, DataType::int32, Reduction::sum));
  for (const int v : data)
    if (said == "ok" && v != group.size()) return "wrong sum";
  return said;
}

// Gathers as much as two ranks on shared memory may offer to each other.
std::string gather_ranks(Group& group) {
  constexpr std::size_t kCount = 65'536;
  const std::vector<int> in(kCount, group.rank());
  std::vector<int> out(std::size_t(group.size()) * kCount, -1);
  const std::string said = outcome(group.all_gather(in.data(), out.data(), kCount, DataType::int32));
  for (std::size_t i = 0; said == "ok" && i < out.size(); ++i)
    if (out[i] != int(i / kCount)) return "a wrong part";
  return said;
}

// Over TCP, and with shared memory, where each group has an exchange and descriptors of the other ranks' processes.
class ManyGroups : public testing::TestWithParam<bool> {
 protected:
  static bool has_exchange() { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Wires, ManyGroups, testing::Bool(),
                         [](const auto& wire) { return wire.param ? "shm" : "tcp"; });

TEST_P(ManyGroups, a_thousand_come_and_go__nothing_is_left_behind) {
  const int many = has_exchange() ? 400 : 1000;
  Ranks ranks(2, "test", has_exchange());
  const auto work = [](Group& group) {
    EXPECT_EQ(sum_ones(group, 5), "ok");
    if (has_exchange()) {
      EXPECT_EQ(gather_ranks(group), "ok");
    }
  };
  const auto once = [&](int k) {
    auto groups = ranks.another("g" + std::to_string(k % 3));
    ASSERT_TRUE(groups[0] && groups[1]);
    std::thread other([&] { work(*groups[1]); });
    work(*groups[0]);
    other.join();
  };
  for (int k = 0; k < 20 && !HasFailure(); ++k) once(k);
  const int descriptors = open_descriptors(), threads = entries("/proc/self/task"), mappings = shared_mappings();
  const int keys = entries(ranks.store_folder());
  for (int k = 0; k < many && !HasFailure(); ++k) once(k);
  const auto more = [&] {
    return open_descriptors() > descriptors || entries("/proc/self/task") > threads || shared_mappings() > mappings;
  };
  // the kernel's entry of a thread outlives its join a little
  for (int i = 0; i < 500 && more(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_LE(open_descriptors(), descriptors);
  EXPECT_LE(entries("/proc/self/task"), threads);
  EXPECT_LE(shared_mappings(), mappings);
  EXPECT_EQ(entries(ranks.store_folder()), keys);
}

TEST(GroupsOfOneStore, of_ever_new_names__leave_no_claims_behind) {
  constexpr int kGroups = 50;
  Ranks ranks(2);
  std::uint16_t port = 0;
  const std::shared_ptr<Store> kept = std::move(*collectives::tcp_store("127.0.0.1", 0, true, 20s, &port));
  const auto other = std::move(*collectives::tcp_store("127.0.0.1", port, false, 20s));
  for (int k = 0; k < kGroups && !HasFailure(); ++k) (void)ranks.another("n" + std::to_string(k), kept);
  ASSERT_TRUE(kept->set("heard", "").ok());  // so the server has handled the releases, too
  for (int k = 0; k < kGroups; ++k)
    for (const char* rank : {"0", "1"}) EXPECT_TRUE(other->claim("n" + std::to_string(k) + "/claim/" + rank).ok()) << k;
}

// Each process has one store for all of its groups. Here an engine and a store stand for a process.
TEST(GroupsOfOneStore, whose_ranks_are_the_other_way_round__meet_at_once) {
  Config config;
  config.interfaces = "=lo";
  config.stats_dir.clear();
  std::uint16_t port = 0;
  std::shared_ptr<Engine> engines[2];
  std::shared_ptr<Store> stores[2];
  for (const int process : {0, 1}) {
    engines[process] = std::move(*Engine::start(config));
    stores[process] = std::move(*collectives::tcp_store("127.0.0.1", port, process == 0, 20s, &port));
  }
  const auto meet = [&](const std::string& name, int process, int rank) {
    auto group = Group::create(engines[process], stores[process], {name, rank, 2, 20s});
    EXPECT_TRUE(group.ok()) << group.status().message();
  };
  for (int k = 0; k < 10 && !HasFailure(); ++k) {
    std::vector<std::thread> threads;
    for (const int process : {0, 1}) {
      threads.emplace_back(meet, "back" + std::to_string(k), process, 1 - process);
      threads.emplace_back(meet, "forth" + std::to_string(k), process, process);
    }
    for (auto& thread : threads) thread.join();
  }
}

TEST_P(ManyGroups, two_interleaved_from_two_threads) {
  Ranks ranks(3, "test", has_exchange());
  auto second = ranks.another("second");
  ranks.run([&](int rank, Group& group) {
    const auto work = [](Group& g, int seed) {
      for (int k = 0; k < 200; ++k) {
        ASSERT_EQ(sum_ones(g, std::size_t(1 + (k * seed) % 9000)), "ok");
        if (!has_exchange() || k % 8 != 0) continue;
        ASSERT_EQ(sum_ones(g, std::size_t(100'000 + k * seed)), "ok");  // in pieces
        ASSERT_EQ(gather_ranks(g), "ok");
      }
    };
    std::thread other([&] { work(*second[std::size_t(rank)], 131); });
    work(group, 97);
    other.join();
  });
}

TEST_P(ManyGroups, a_killed_process__is_named_by_all_the_others) {
  Folder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  Config config;
  config.interfaces = "=lo";
  config.shm = has_exchange();
  config.stats_dir.clear();
  const auto join = [&](int rank) -> std::shared_ptr<Group> {
    auto engine = Engine::start(config);
    std::shared_ptr<collectives::Store> store = std::move(*collectives::file_store(folder.path()));
    auto group = Group::create(*engine, store, {"doomed", rank, 4, 20s});
    return group.ok() ? *group : nullptr;
  };
  const auto sum_until_it_fails = [](Group& group) {
    std::vector<float> data(4'000'000, 1);
    std::string said = "ok";
    while (said == "ok")
      said = outcome(group.all_reduce(data.data(), data.data(), data.size(), DataType::float32, Reduction::sum), 20s);
    return said;
  };
  std::vector<pid_t> children;
  for (const int rank : {1, 2, 3}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(60);
      const auto group = join(rank);
      if (!group || ::write(ready[1], "x", 1) != 1) ::_exit(2);
      ::_exit(sum_until_it_fails(*group).find("rank 2 is lost") != std::string::npos ? 0 : 1);
    }
    children.push_back(pid);
  }
  ::close(ready[1]);  // so that read() returns if the children end early
  const auto group = join(0);
  ASSERT_TRUE(group);
  char byte;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  std::thread killer([&] {
    std::this_thread::sleep_for(200ms);
    ::kill(children[1], SIGKILL);
  });
  const std::string said = sum_until_it_fails(*group);
  EXPECT_NE(said.find("rank 2 is lost"), std::string::npos) << said;
  killer.join();
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_TRUE(pid == children[1] || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << "a rank did not name rank 2";
  }
  ::close(ready[0]);
}

}  // namespace
}  // namespace railweave::collectives_test
