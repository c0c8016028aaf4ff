// A peer that stops calling the plugin, and a peer that exits as soon as its own requests are done.
#include <gtest/gtest.h>

#include "tests/nccl/log_capture.h"
#include "tests/nccl/pair.h"
#include "tests/nccl/versions.h"
#include "tests/sanitizers.h"

namespace railweave::nccl_test {
namespace {

class Leaving : public testing::TestWithParam<int> {};

// The other process posts a window each way, and makes no call before our requests are done. Our requests must finish
// all the same.
TEST_P(Leaving, a_peer_that_stops_calling_holds_up_no_request) {
  clear_captured_log();
  const Scenario scenario{
      .version = GetParam(), .comms = 2, .both_ways = true, .messages = 4, .slot_bytes = 1 * MiB, .depth = 4};
  const Library library(options().plugin);
  const auto net = library.net(scenario.version);
  Peer peer("post_and_wait", scenario.text());
  Rank rank(*net, scenario, 0);
  rank.connect(peer.channel());
  peer.channel().receive();  // the peer has posted everything
  rank.run();
  peer.channel().send("go on");
  peer.channel().barrier();
  rank.close();
  peer.expect_exit();
  EXPECT_EQ(warnings_text(), "");
}

// Returns how often the peer leaves: most often with the versions that NCCL uses today.
int departures(int version) {
  if (options().leaves > 0) return options().leaves;
  return version >= 11 && !kSanitized ? 1000 : 100;
}

// The other process calls _exit(0) right after its last test() returned done.
void leave_many_times(int version, bool peer_sends) {
  clear_captured_log();
  const Scenario scenario{.version = version,
                          .comms = 2,
                          .both_ways = false,
                          .messages = 5,
                          .slot_bytes = 40'000,
                          .depth = 3,
                          .sizes = Sizes::random,
                          .timeout_s = 20};
  const Library library(options().plugin);
  const auto net = library.net(version);
  Peer peer(peer_sends ? "leave_after_sending" : "leave_after_receiving",
            std::to_string(departures(version)) + ":" + scenario.text());
  void* keeps_the_engine = nullptr;
  ASSERT_EQ(net->init(&keeps_the_engine, -1, capture_log), abi::kSuccess);
  for (int i = 0; i < departures(version); ++i) {
    SCOPED_TRACE("departure " + std::to_string(i));
    Scenario seeded = scenario;
    seeded.seed = std::uint64_t(i);
    Rank rank(*net, seeded, peer_sends ? 1 : 0);
    rank.connect(peer.channel());
    rank.run();
    rank.close();
    ASSERT_EQ(warnings_text(), "");
  }
  EXPECT_EQ(net->finalize(keeps_the_engine), abi::kSuccess);
  peer.expect_exit();
}

TEST_P(Leaving, a_receiver_may_exit_right_after_its_last_test) { leave_many_times(GetParam(), false); }
TEST_P(Leaving, a_sender_may_exit_right_after_its_last_test) { leave_many_times(GetParam(), true); }

INSTANTIATE_TEST_SUITE_P(, Leaving, testing::Values(6, 11, 12), version_name);

}  // namespace
}  // namespace railweave::nccl_test
