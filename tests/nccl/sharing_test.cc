// Many comms between two processes share sockets, and a late receiver costs no memory.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/engine/account_descriptors.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/pair.h"
#include "tests/nccl/versions.h"
#include "tests/sanitizers.h"

namespace railweave::nccl_test {
namespace {

using namespace std::chrono_literals;

int sockets_of_this_process() {
  int count = 0;
  DIR* const descriptors = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(descriptors)) {
    struct stat what {};
    // Not fstat(): a thread sanitizer takes it for a use of a descriptor that the engine may be closing.
    count += fstatat(dirfd(descriptors), entry->d_name, &what, 0) == 0 && S_ISSOCK(what.st_mode) &&
             !is_of_an_account(entry->d_name);
  }
  closedir(descriptors);
  return count;
}

// Returns the number of sockets once the first dials, which run beside the first messages, are over.
int settled_sockets() {
  int count = sockets_of_this_process();
  for (int unchanged = 0, looks = 0; unchanged < 20 && looks < 500; ++looks) {
    std::this_thread::sleep_for(10ms);
    const int now = sockets_of_this_process();
    unchanged = now == count ? unchanged + 1 : 0;
    count = now;
  }
  return count;
}

std::size_t resident_bytes() {
  std::size_t total_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * std::size_t(sysconf(_SC_PAGESIZE));
}

class Sharing : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { clear_captured_log(); }
};

int sockets_with(int version, int comms) {
  Scenario scenario{.version = version, .comms = comms, .both_ways = true, .messages = 4, .slot_bytes = 4 * KiB};
  Peer peer("rank_one", scenario.text());
  const Library library(options().plugin);
  const auto net = library.net(version);
  Rank rank(*net, scenario, 0);
  rank.connect(peer.channel());
  rank.run();
  const int sockets = settled_sockets();
  peer.channel().barrier();
  rank.close();
  peer.expect_exit();
  return sockets;
}

TEST_P(Sharing, many_comms_use_no_more_sockets_than_one) {
  const int with_one = sockets_with(GetParam(), 1);
  EXPECT_EQ(sockets_with(GetParam(), 32), with_one) << "32 each way";
  EXPECT_EQ(warnings_text(), "");
}

// The sender of the next operation may be ahead of its receiver. Its posts wait at the sender.
TEST_P(Sharing, sends_without_a_receive_cost_no_memory) {
  const Scenario scenario{.version = GetParam(), .comms = 8, .messages = 8, .slot_bytes = 2 * MiB, .depth = 8};
  Pair pair(scenario);
  for (auto& flow : pair.first->sends()) flow->post_window();
  const std::size_t before = resident_bytes();
  const auto until = std::chrono::steady_clock::now() + 1s;
  while (std::chrono::steady_clock::now() < until)
    for (auto& flow : pair.first->sends()) flow->advance();
  for (auto& flow : pair.first->sends()) EXPECT_EQ(flow->done(), 0u) << "nobody took it: " << flow->state();
  if (!kSanitized) {
    EXPECT_LT(resident_bytes(), before + 16 * MiB) << "128 MiB are on offer";
  }
  pair.first->start();
  pair.second->start();
  pair.first->wait();
  pair.second->wait();
  EXPECT_EQ(warnings_text(), "");
}

TEST_P(Sharing, a_comm_without_a_receive_holds_up_no_other) {
  const Scenario scenario{.version = GetParam(), .comms = 3, .messages = 64, .slot_bytes = 1 * MiB, .depth = 8};
  Pair pair(scenario);
  pair.first->sends()[0]->post_window();  // large, and never received
  bool sent = false, received = false;
  spin_until("the other comm finished", 20s, [&] {
    pair.first->sends()[0]->advance();
    sent = sent || pair.first->sends()[1]->advance();
    received = received || pair.second->receives()[1]->advance();
    return sent && received;
  });
  EXPECT_EQ(pair.first->sends()[0]->done(), 0u);
  EXPECT_EQ(warnings_text(), "");
}

INSTANTIATE_TEST_SUITE_P(, Sharing, testing::Values(6, 11, 12), version_name);

}  // namespace
}  // namespace railweave::nccl_test
