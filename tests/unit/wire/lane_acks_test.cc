#include "wire/bootstrap/lane_acks.h"

#include <gtest/gtest.h>
#include <linux/tcp.h>  // for the kernel's tcp_info, which the code under test uses

namespace railweave::wire {
namespace {

using namespace std::chrono_literals;

// A tcp_info that the test writes, observed every 10 ms.
class LaneAcksTest : public testing::Test {
 protected:
  LaneAcksTest() { info_.tcpi_rto = 200'000; }

  AckStatus poll() {
    info_.tcpi_last_ack_recv = info_.tcpi_last_data_recv = std::uint32_t((now_ - heard_at_) / 1ms);
    return acks_.observe(now_, info_);
  }
  // Polls for `time` at most. Returns how long it took until the lane was silent; none: the lane did not become silent.
  std::optional<Nanos> silent_within(Nanos time) {
    for (const TimePoint began = now_, end = now_ + time; now_ < end; now_ += 10ms)
      if (poll().silent_since) return now_ - began;
    return {};
  }
  // The host sends `packets` more packets; none of them is acknowledged yet.
  void send(std::uint32_t packets) {
    info_.tcpi_unacked += packets;
    info_.tcpi_data_segs_out += packets;
  }
  void send_again() {
    ++info_.tcpi_data_segs_out, ++info_.tcpi_total_retrans;
    info_.tcpi_retrans = 1;
  }
  // The retransmission timer fires: all unacknowledged packets count as lost, and the timeout doubles.
  void time_out() {
    send_again();
    ++info_.tcpi_retransmits, ++info_.tcpi_backoff;
    info_.tcpi_rto *= 2;
    info_.tcpi_lost = info_.tcpi_unacked;
  }
  void answer() {
    heard_at_ = now_;
    ++info_.tcpi_segs_in;
    info_.tcpi_unacked = info_.tcpi_probes = 0;
  }
  void probe() { ++info_.tcpi_probes, ++info_.tcpi_backoff; }

  tcp_info info_{};
  TimePoint now_{1h}, heard_at_{1h};
  LaneAcks acks_;
};

TEST_F(LaneAcksTest, a_lane_that_owes_nothing_is_not_silent) { EXPECT_FALSE(silent_within(1h)); }

TEST_F(LaneAcksTest, several_packets_are_silent_after_300_ms_and_one_sent_again) {
  send(3);
  EXPECT_FALSE(silent_within(210ms));
  time_out();
  EXPECT_EQ(silent_within(1s), 90ms);
}

// A packet and its retransmissions may be lost by chance: three in a row now and then, four hardly ever.
TEST_F(LaneAcksTest, a_packet_alone_is_silent_when_four_in_a_row_are_unanswered) {
  send(1);
  EXPECT_FALSE(silent_within(200ms));
  send_again();  // a tail loss probe
  EXPECT_FALSE(silent_within(200ms));
  time_out();
  EXPECT_FALSE(silent_within(400ms));
  time_out();
  EXPECT_EQ(silent_within(1s), 0ms);
}

TEST_F(LaneAcksTest, packets_lost_before_the_last_answer_do_not_count) {
  send(9);
  poll();
  info_.tcpi_sacked = 6, info_.tcpi_lost = 3;
  heard_at_ = now_ += 10ms, ++info_.tcpi_segs_in;
  send_again();
  EXPECT_FALSE(silent_within(210ms));
  time_out();
  EXPECT_FALSE(silent_within(300ms)) << "two packets are unanswered";
}

TEST_F(LaneAcksTest, an_answer_makes_all_that_was_sent_before_count_no_more) {
  send(9);
  EXPECT_FALSE(silent_within(290ms));
  heard_at_ = now_;
  ++info_.tcpi_segs_in;
  info_.tcpi_sacked = 9;
  time_out();
  EXPECT_FALSE(silent_within(2s));
}

TEST_F(LaneAcksTest, the_retransmission_timeout_counts_without_its_doubling) {
  info_.tcpi_rto = 400'000;
  send(9);
  EXPECT_FALSE(silent_within(400ms));
  time_out();
  EXPECT_EQ(silent_within(2s), 200ms);
}

TEST_F(LaneAcksTest, what_our_host_never_sends_again_is_waited_for_a_second) {
  send(9);
  EXPECT_EQ(silent_within(3s), 1s);
}

TEST_F(LaneAcksTest, a_lane_is_late_after_100_ms_and_two_round_trips) {
  send(1);
  poll();
  now_ += 90ms;
  EXPECT_FALSE(poll().late_since);
  now_ += 10ms;
  EXPECT_EQ(poll().late_since, now_ - 100ms);
  info_.tcpi_rtt = 80'000;
  EXPECT_FALSE(poll().late_since);
  now_ += 60ms;
  EXPECT_TRUE(poll().late_since);
}

// After this process was stopped for two seconds, the kernel's values may be as old.
TEST_F(LaneAcksTest, a_late_poll_makes_no_lane_silent_and_the_next_one_does) {
  send(9);
  EXPECT_FALSE(silent_within(100ms));
  now_ += 2s;
  time_out();
  EXPECT_FALSE(poll().silent_since);
  now_ += 10ms;
  EXPECT_TRUE(poll().silent_since);
}

TEST_F(LaneAcksTest, a_late_poll_finds_no_silence_where_an_answer_came_meanwhile) {
  send(9);
  EXPECT_FALSE(silent_within(100ms));
  time_out();
  now_ += 2s;
  heard_at_ = now_ - 100ms, ++info_.tcpi_segs_in;
  EXPECT_FALSE(silent_within(150ms));
}

// A process that seldom runs polls late every time.
TEST_F(LaneAcksTest, of_polls_that_all_come_late_the_second_counts) {
  send(9);
  poll();
  now_ += 1s;
  time_out();
  EXPECT_FALSE(poll().silent_since);
  now_ += 1s;
  EXPECT_TRUE(poll().silent_since);
}

TEST_F(LaneAcksTest, a_peer_that_answers_with_a_shut_window_is_not_silent) {
  send(9);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(silent_within(250ms));
    heard_at_ = now_;
    ++info_.tcpi_segs_in;
  }
}

// The rail carries one way only: the peer's data arrives, and the peer retransmits because our acknowledgements do not.
TEST_F(LaneAcksTest, what_the_peer_sends_is_no_answer_to_what_it_owes) {
  send(3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(silent_within(100ms));
    ++info_.tcpi_segs_in, ++info_.tcpi_data_segs_in;
    heard_at_ = now_;
    EXPECT_EQ(poll().heard_at, now_);
    if (i == 0) time_out();
  }
  EXPECT_EQ(silent_within(1s), 100ms);
}

TEST_F(LaneAcksTest, a_selective_acknowledgement_with_data_is_an_answer) {
  send(8);
  time_out();
  EXPECT_FALSE(silent_within(290ms));
  ++info_.tcpi_segs_in, ++info_.tcpi_data_segs_in, ++info_.tcpi_sacked;
  heard_at_ = now_;
  send(4);
  send_again();
  EXPECT_EQ(silent_within(1s), 300ms);
}

TEST_F(LaneAcksTest, of_a_keepalive_alone_three_must_be_unanswered) {
  info_.tcpi_probes = 1;
  EXPECT_FALSE(silent_within(2s));
  EXPECT_TRUE(poll().owes_keepalive);
  info_.tcpi_probes = 2;
  EXPECT_FALSE(silent_within(2s));
  info_.tcpi_probes = 3;
  EXPECT_TRUE(silent_within(10ms));
}

TEST_F(LaneAcksTest, a_window_probe_too_soon_after_another_may_be_ignored) {
  probe();
  EXPECT_FALSE(silent_within(10ms));
  EXPECT_FALSE(poll().owes_keepalive);
  answer();
  EXPECT_FALSE(silent_within(480ms));
  probe();  // ignored: the peer's kernel answered another less than half a second ago
  EXPECT_FALSE(silent_within(960ms));
  probe();
  EXPECT_FALSE(silent_within(10ms));
  answer();
  EXPECT_FALSE(silent_within(1920ms));
}

TEST_F(LaneAcksTest, between_two_window_probes_the_kernel_is_to_ask_again) {
  EXPECT_FALSE(poll().asks_later);
  probe();
  EXPECT_FALSE(poll().asks_later) << "it asks";
  answer();
  EXPECT_TRUE(poll().asks_later);
  info_.tcpi_backoff = 0;  // the peer's window has room again
  EXPECT_FALSE(poll().asks_later);
}

TEST_F(LaneAcksTest, two_probes_in_a_row_are_not_ignored) {
  info_.tcpi_rto = 240'000;
  probe();
  EXPECT_FALSE(silent_within(10ms));
  answer();
  EXPECT_FALSE(silent_within(480ms));
  const TimePoint asked_at = now_;
  probe();
  EXPECT_FALSE(silent_within(960ms));
  probe();
  ASSERT_TRUE(silent_within(350ms));
  EXPECT_EQ(poll().silent_since, asked_at) << "it is silent from the first one on";
}

TEST_F(LaneAcksTest, a_probe_that_comes_late_enough_is_not_ignored) {
  info_.tcpi_backoff = 2;  // sent 800 ms after the last
  probe();
  EXPECT_EQ(silent_within(2s), 1s);
}

// Probes of a shut window begin after 200 ms whatever the least RTO: the fourth is sent 1.6 s after the third.
TEST_F(LaneAcksTest, a_lowered_least_rto_makes_no_late_probe_an_early_one) {
  info_.tcpi_rto = 5'000;
  info_.tcpi_backoff = 3;
  probe();
  EXPECT_EQ(silent_within(2s), 1s);
}

}  // namespace
}  // namespace railweave::wire
