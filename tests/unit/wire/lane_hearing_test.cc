#include "wire/tcp/lane_hearing.h"

#include <gtest/gtest.h>
#include <linux/tcp.h>  // the kernel's tcp_info, as the code under test

namespace railweave::wire {
namespace {

using namespace std::chrono_literals;

// A connection as its kernel tells of it, looked at every 10 ms.
class Heard : public testing::Test {
 protected:
  Heard() { info_.tcpi_rto = 240'000; }

  // When it began to count as silent, from now on; none: not in that time.
  std::optional<Nanos> silent_within(Nanos time) {
    for (const TimePoint began = now_, end = now_ + time; now_ < end; now_ += 10ms) {
      info_.tcpi_last_ack_recv = info_.tcpi_last_data_recv = std::uint32_t((now_ - heard_at_) / 1ms);
      if (hearing_.look(now_, info_).silent_since) return now_ - began;
    }
    return {};
  }
  void answer() {
    heard_at_ = now_;
    info_.tcpi_unacked = info_.tcpi_probes = 0;
  }
  void probe() { ++info_.tcpi_probes, ++info_.tcpi_backoff; }

  tcp_info info_{};
  TimePoint now_{1h}, heard_at_{1h};
  LaneHearing hearing_;
};

TEST_F(Heard, who_owes_nothing_is_not_silent) { EXPECT_FALSE(silent_within(1h)); }

TEST_F(Heard, who_owes_an_acknowledgement_is_silent_after_the_kernel_has_sent_again) {
  info_.tcpi_unacked = 1;
  EXPECT_EQ(silent_within(1s), 300ms);
}

TEST_F(Heard, who_answers_is_not_silent__if_only_that_the_window_is_shut) {
  info_.tcpi_unacked = 1;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(silent_within(250ms));
    heard_at_ = now_;
  }
}

TEST_F(Heard, of_the_probes_of_a_shut_window_one_that_comes_too_soon_after_another_may_be_ignored) {
  probe();
  EXPECT_FALSE(silent_within(10ms));
  answer();
  EXPECT_FALSE(silent_within(480ms));
  probe();  // ignored: the peer's kernel answered another less than half a second ago
  EXPECT_FALSE(silent_within(960ms));
  probe();
  EXPECT_FALSE(silent_within(10ms));
  answer();
  EXPECT_FALSE(silent_within(1920ms));
}

TEST_F(Heard, between_two_probes_of_a_shut_window_the_kernel_is_to_ask_again) {
  EXPECT_FALSE(hearing_.look(now_, info_).asks_later);
  probe();
  EXPECT_FALSE(hearing_.look(now_, info_).asks_later) << "it asks";
  answer();
  EXPECT_TRUE(hearing_.look(now_, info_).asks_later);
  info_.tcpi_backoff = 0;  // room again
  EXPECT_FALSE(hearing_.look(now_, info_).asks_later);
}

TEST_F(Heard, two_in_a_row_are_not_ignored) {
  probe();
  EXPECT_FALSE(silent_within(10ms));
  answer();
  EXPECT_FALSE(silent_within(480ms));
  const TimePoint asked_at = now_;
  probe();
  EXPECT_FALSE(silent_within(960ms));
  probe();
  ASSERT_TRUE(silent_within(350ms));
  EXPECT_EQ(hearing_.look(now_, info_).silent_since, asked_at) << "it is silent from the first one on";
}

TEST_F(Heard, a_probe_that_comes_late_enough_is_not_ignored) {
  info_.tcpi_backoff = 2;  // sent 960 ms after the last
  probe();
  EXPECT_EQ(silent_within(2s), 300ms);
}

// Probes of a shut window begin after 200 ms all the same: the fourth comes 1.6 s after the third.
TEST_F(Heard, where_the_route_lowers_the_least_rto_late_probes_are_not_taken_for_early_ones) {
  info_.tcpi_rto = 5'000;
  info_.tcpi_backoff = 3;
  probe();
  EXPECT_EQ(silent_within(2s), 10ms);
}

}  // namespace
}  // namespace railweave::wire
