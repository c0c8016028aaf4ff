#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "collectives/group.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::DataType;
using collectives::Group;
using collectives::Reduction;
using collectives::WorkPtr;

int entries(const std::string& folder) {
  int n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

std::string sum_ones(Group& group, std::size_t count) {
  std::vector<int> data(count, 1);
  const std::string said = outcome(group.all_reduce(data.data(), data.data(), count, DataType::int32, Reduction::sum));
  for (const int v : data)
    if (said == "ok" && v != group.size()) return "wrong sum";
  return said;
}

TEST(ManyGroups, a_thousand_come_and_go__nothing_is_left_behind) {
  Ranks ranks(2);
  const auto once = [&](int k) {
    auto groups = ranks.another("g" + std::to_string(k % 3));
    std::thread other([&] { EXPECT_EQ(sum_ones(*groups[1], 5), "ok"); });
    EXPECT_EQ(sum_ones(*groups[0], 5), "ok");
    other.join();
  };
  for (int k = 0; k < 20; ++k) once(k);
  const int descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task"), keys = entries(ranks.store_folder());
  for (int k = 0; k < 1000 && !HasFailure(); ++k) once(k);
  const auto more = [&] { return entries("/proc/self/fd") > descriptors || entries("/proc/self/task") > threads; };
  for (int i = 0; i < 500 && more(); ++i) std::this_thread::sleep_for(10ms);  // the kernel's entries outlive a join a little
  EXPECT_LE(entries("/proc/self/fd"), descriptors);
  EXPECT_LE(entries("/proc/self/task"), threads);
  EXPECT_EQ(entries(ranks.store_folder()), keys);
}

TEST(ManyGroups, two_interleaved_from_two_threads) {
  Ranks ranks(3);
  auto second = ranks.another("second");
  ranks.run([&](int rank, Group& group) {
    const auto work = [](Group& g, int seed) {
      for (int k = 0; k < 200; ++k) ASSERT_EQ(sum_ones(g, std::size_t(1 + (k * seed) % 9000)), "ok");
    };
    std::thread other([&] { work(*second[std::size_t(rank)], 131); });
    work(group, 97);
    other.join();
  });
}

TEST(ManyGroups, a_killed_process__is_named_by_all_the_others) {
  Folder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  Config config;
  config.interfaces = "=lo";
  config.stats_dir.clear();
  const auto join = [&](int rank) -> std::shared_ptr<Group> {
    auto engine = Engine::start(config);
    std::shared_ptr<collectives::Store> store = std::move(*collectives::file_store(folder.path()));
    auto group = Group::create(*engine, store, {"doomed", rank, 4, 20s});
    return group.ok() ? *group : nullptr;
  };
  std::vector<pid_t> children;
  for (const int rank : {1, 2, 3}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const auto group = join(rank);
      if (!group || ::write(ready[1], "x", 1) != 1) ::_exit(2);
      std::vector<float> data(4'000'000, 1);
      std::string said = "ok";
      while (said == "ok") said = outcome(group->all_reduce(data.data(), data.data(), data.size(), DataType::float32, Reduction::sum), 20s);
      ::_exit(said.find("rank 2 is lost") != std::string::npos ? 0 : 1);
    }
    children.push_back(pid);
  }
  const auto group = join(0);
  ASSERT_TRUE(group);
  char byte;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  std::thread killer([&] {
    std::this_thread::sleep_for(200ms);
    ::kill(children[1], SIGKILL);
  });
  std::vector<float> data(4'000'000, 1);
  std::string said = "ok";
  while (said == "ok") said = outcome(group->all_reduce(data.data(), data.data(), data.size(), DataType::float32, Reduction::sum), 20s);
  EXPECT_NE(said.find("rank 2 is lost"), std::string::npos) << said;
  killer.join();
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_TRUE(pid == children[1] || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << "a rank did not name rank 2";
  }
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace railweave::collectives_test
