// Comms that end before their requests do: abort, deregMr, close, a peer that dies or is stopped.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "tests/nccl/failure.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/pair.h"
#include "tests/nccl/versions.h"

namespace railweave::nccl_test {
namespace {

using namespace std::chrono_literals;

class Teardown : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { clear_captured_log(); }

  // An end with more slots than the other always has requests that cannot finish.
  Scenario two_comms(int depth = 4) const {
    return {.version = GetParam(), .comms = 2, .messages = 200, .slot_bytes = 1 * MiB, .depth = depth, .timeout_s = 20};
  }

  // Drives the first comm of both into the middle of its traffic.
  static void to_the_middle(Pair& pair) {
    spin_until("in the middle", 10s, [&] {
      pair.first->sends()[0]->advance();
      pair.second->receives()[0]->advance();
      return pair.second->receives()[0]->done() >= 6;
    });
    pair.first->sends()[0]->advance();  // the window is full of messages that have begun
    pair.second->receives()[0]->advance();
  }

  // The second comm of the same session carries all of its messages, and every byte is checked.
  static void second_comm_goes_on(Pair& pair) {
    bool sent = false, received = false;
    spin_until("the other comm finished", 20s, [&] {
      sent = sent || pair.first->sends()[1]->advance();
      received = received || pair.second->receives()[1]->advance();
      return sent && received;
    });
  }

  static void expect_no_fault() {
    for (const std::string& warning : captured_warnings())
      EXPECT_EQ(warning.find("Bad address"), std::string::npos) << warning;
  }
};

TEST_P(Teardown, dereg_mr__at_the_receiver_leaves_its_memory_alone) {
  Pair pair(two_comms(2), two_comms(4));
  to_the_middle(pair);
  RecvFlow& aborted = *pair.second->receives()[0];
  ASSERT_GT(aborted.outstanding(), 0u);
  aborted.deregister_memory();
  aborted.memory().forbid();  // a later write, by a thread or the kernel, fails
  second_comm_goes_on(pair);
  EXPECT_NE(error_of(*pair.first->sends()[0], 5s).find("ncclResult_t 6"), std::string::npos) << "the sender is told";
  expect_no_fault();
}

TEST_P(Teardown, dereg_mr__at_the_sender_leaves_its_memory_alone) {
  Pair pair(two_comms(4), two_comms(2));
  to_the_middle(pair);
  SendFlow& aborted = *pair.first->sends()[0];
  ASSERT_GT(aborted.outstanding(), 0u);
  aborted.deregister_memory();
  aborted.memory().forbid();
  second_comm_goes_on(pair);
  EXPECT_NE(error_of(*pair.second->receives()[0], 5s).find("ncclResult_t 6"), std::string::npos)
      << "the receiver is told";
  expect_no_fault();
}

TEST_P(Teardown, dereg_mr__without_traffic_ends_nothing) {
  Pair pair(two_comms());
  std::vector<char> memory(4096);
  void* mhandle = nullptr;
  Net& net = pair.first->net();
  ASSERT_EQ(net.reg_mr(pair.first->sends()[0]->net_comm(), memory.data(), memory.size(), abi::kPtrHost, &mhandle),
            abi::kSuccess);
  ASSERT_EQ(net.dereg_mr(pair.first->sends()[0]->net_comm(), mhandle), abi::kSuccess);
  to_the_middle(pair);
  EXPECT_EQ(warnings_text(), "");
}

TEST_P(Teardown, repeated_aborts_in_mid_transfer_on_both_sides_are_clean) {
  for (int round = 0; round < 5; ++round) {
    Scenario scenario = two_comms();
    scenario.both_ways = true;
    Pair pair(scenario);
    pair.first->start();
    pair.second->start();
    std::this_thread::sleep_for(20ms);
    pair.first.reset();  // joins the proxy's threads, calls deregMr, frees the buffers, closes, finalizes
    pair.second.reset();
  }
  expect_no_fault();
}

TEST_P(Teardown, close__with_requests_outstanding_ends_the_peers_requests) {
  Pair pair(two_comms(4), two_comms(2));
  to_the_middle(pair);
  pair.first->close();
  EXPECT_NE(error_of(*pair.second->receives()[0], 5s).find("ncclResult_t 6"), std::string::npos);
}

TEST_P(Teardown, a_killed_peer_fails_every_request_soon) {
  const Library library(options().plugin);
  const auto net = library.net(GetParam());
  Peer peer("stay", two_comms().text());
  Rank rank(*net, two_comms(), 0);
  rank.connect(peer.channel());
  spin_until("under way", 10s, [&] {
    rank.sends()[0]->advance();
    return rank.sends()[0]->done() >= 4;
  });
  kill(peer.pid(), SIGKILL);
  for (auto& flow : rank.sends())
    EXPECT_NE(error_of(*flow, 5s).find("ncclResult_t 6"), std::string::npos) << flow->state();
  EXPECT_FALSE(captured_warnings().empty());
}

// The peer stops in the middle of traffic both ways: its data is landing, and it granted more of our data than the
// sockets hold.
TEST_P(Teardown, a_stopped_peer_holds_up_no_abort) {
  const Library library(options().plugin);
  const auto net = library.net(GetParam());
  Scenario scenario = two_comms();
  scenario.both_ways = true;
  scenario.slot_bytes = 8 * MiB;
  Peer peer("post_and_wait", scenario.text());
  Rank rank(*net, scenario, 0);
  rank.connect(peer.channel());
  peer.channel().receive();  // the peer has posted everything
  spin_until("under way", 10s, [&] {
    for (auto& flow : rank.receives()) flow->advance();
    return rank.receives()[0]->done() > 0;
  });
  kill(peer.pid(), SIGSTOP);
  const auto until = std::chrono::steady_clock::now() + 200ms;
  spin_until("stuck", 10s, [&] {
    for (auto& flow : rank.receives()) flow->advance();
    for (auto& flow : rank.sends()) flow->advance();
    return std::chrono::steady_clock::now() > until;
  });
  abort_promptly(rank);
  expect_no_fault();
}

INSTANTIATE_TEST_SUITE_P(, Teardown, testing::Values(6, 9, 11, 12), version_name);

}  // namespace
}  // namespace railweave::nccl_test
