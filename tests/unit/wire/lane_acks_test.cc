#include "wire/tcp/lane_acks.h"

#include <gtest/gtest.h>
#include <linux/tcp.h>  // the kernel's tcp_info, as the code under test

namespace railweave::wire {
namespace {

using namespace std::chrono_literals;

// A connection as its kernel tells of it, looked at every 10 ms.
class Heard : public testing::Test {
 protected:
  Heard() { info_.tcpi_rto = 200'000; }

  AckStatus poll() {
    info_.tcpi_last_ack_recv = info_.tcpi_last_data_recv = std::uint32_t((now_ - heard_at_) / 1ms);
    return acks_.poll(now_, info_);
  }
  // When it began to count as silent, from now on; none: not in that time.
  std::optional<Nanos> silent_within(Nanos time) {
    for (const TimePoint began = now_, end = now_ + time; now_ < end; now_ += 10ms)
      if (poll().silent_since) return now_ - began;
    return {};
  }
  // So many more packets go out, and none of them is acknowledged yet.
  void send(std::uint32_t packets) {
    info_.tcpi_unacked += packets;
    info_.tcpi_data_segs_out += packets;
  }
  void send_again() {
    ++info_.tcpi_data_segs_out, ++info_.tcpi_total_retrans;
    info_.tcpi_retrans = 1;
  }
  // By the timer: all that is out counts as lost from then on, and the timer is doubled.
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

TEST_F(Heard, who_owes_nothing_is_not_silent) { EXPECT_FALSE(silent_within(1h)); }

TEST_F(Heard, a_lane_with_several_packets_out_is_silent_after_300_ms__if_one_was_sent_again) {
  send(3);
  EXPECT_FALSE(silent_within(210ms));
  time_out();
  EXPECT_EQ(silent_within(1s), 90ms);
}

// A packet, and what is sent again in its place, is lost by chance now and then: three in a row are.
TEST_F(Heard, a_packet_alone_is_silent_when_four_in_a_row_are_unanswered) {
  send(1);
  EXPECT_FALSE(silent_within(200ms));
  send_again();  // a tail loss probe
  EXPECT_FALSE(silent_within(200ms));
  time_out();
  EXPECT_FALSE(silent_within(400ms));
  time_out();
  EXPECT_EQ(silent_within(1s), 0ms);
}

TEST_F(Heard, what_was_known_to_be_lost_before_the_last_answer_does_not_count) {
  send(9);
  poll();
  info_.tcpi_sacked = 6, info_.tcpi_lost = 3;
  heard_at_ = now_ += 10ms, ++info_.tcpi_segs_in;
  send_again();
  EXPECT_FALSE(silent_within(210ms));
  time_out();
  EXPECT_FALSE(silent_within(300ms)) << "two packets are unanswered";
}

TEST_F(Heard, an_answer_makes_all_that_was_sent_before_count_no_more) {
  send(9);
  EXPECT_FALSE(silent_within(290ms));
  heard_at_ = now_;
  ++info_.tcpi_segs_in;
  info_.tcpi_sacked = 9;
  time_out();
  EXPECT_FALSE(silent_within(2s));
}

TEST_F(Heard, the_retransmission_timeout_counts_as_it_was_before_it_was_doubled) {
  info_.tcpi_rto = 400'000;
  send(9);
  EXPECT_FALSE(silent_within(400ms));
  time_out();
  EXPECT_EQ(silent_within(2s), 200ms);
}

TEST_F(Heard, what_our_host_never_sends_again_is_waited_for_a_second) {
  send(9);
  EXPECT_EQ(silent_within(3s), 1s);
}

TEST_F(Heard, a_lane_is_late_after_100_ms_and_two_round_trips) {
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

// Stopped for two seconds, we find a connection of which the kernel's word may be as old.
TEST_F(Heard, a_look_that_comes_late_makes_no_lane_silent__the_next_one_does) {
  send(9);
  EXPECT_FALSE(silent_within(100ms));
  now_ += 2s;
  time_out();
  EXPECT_FALSE(poll().silent_since);
  now_ += 10ms;
  EXPECT_TRUE(poll().silent_since);
}

TEST_F(Heard, a_look_that_comes_late_says_nothing_where_the_kernel_was_answered_meanwhile) {
  send(9);
  EXPECT_FALSE(silent_within(100ms));
  time_out();
  now_ += 2s;
  heard_at_ = now_ - 100ms, ++info_.tcpi_segs_in;
  EXPECT_FALSE(silent_within(150ms));
}

// Who gets time to run now and then only.
TEST_F(Heard, of_looks_that_all_come_late_the_second_counts) {
  send(9);
  poll();
  now_ += 1s;
  time_out();
  EXPECT_FALSE(poll().silent_since);
  now_ += 1s;
  EXPECT_TRUE(poll().silent_since);
}

TEST_F(Heard, who_answers_is_not_silent__if_only_that_the_window_is_shut) {
  send(9);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(silent_within(250ms));
    heard_at_ = now_;
    ++info_.tcpi_segs_in;
  }
}

// A rail that carries one way only: the peer is heard, and sends again what our kernel acknowledges in vain.
TEST_F(Heard, what_the_peer_sends_is_no_answer_to_what_it_owes) {
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

TEST_F(Heard, what_arrived_out_of_order_is_an_answer__if_a_packet_with_data_tells_of_it) {
  send(8);
  time_out();
  EXPECT_FALSE(silent_within(290ms));
  ++info_.tcpi_segs_in, ++info_.tcpi_data_segs_in, ++info_.tcpi_sacked;
  heard_at_ = now_;
  send(4);
  send_again();
  EXPECT_EQ(silent_within(1s), 300ms);
}

TEST_F(Heard, of_a_keepalive_alone_three_must_be_unanswered) {
  info_.tcpi_probes = 1;
  EXPECT_FALSE(silent_within(2s));
  EXPECT_TRUE(poll().owes_keepalive);
  info_.tcpi_probes = 2;
  EXPECT_FALSE(silent_within(2s));
  info_.tcpi_probes = 3;
  EXPECT_TRUE(silent_within(10ms));
}

TEST_F(Heard, of_the_probes_of_a_shut_window_one_that_comes_too_soon_after_another_may_be_ignored) {
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

TEST_F(Heard, between_two_probes_of_a_shut_window_the_kernel_is_to_ask_again) {
  EXPECT_FALSE(poll().asks_later);
  probe();
  EXPECT_FALSE(poll().asks_later) << "it asks";
  answer();
  EXPECT_TRUE(poll().asks_later);
  info_.tcpi_backoff = 0;  // room again
  EXPECT_FALSE(poll().asks_later);
}

TEST_F(Heard, two_probes_in_a_row_are_not_ignored) {
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

TEST_F(Heard, a_probe_that_comes_late_enough_is_not_ignored) {
  info_.tcpi_backoff = 2;  // sent 800 ms after the last
  probe();
  EXPECT_EQ(silent_within(2s), 1s);
}

// Probes of a shut window begin after 200 ms all the same: the fourth comes 1.6 s after the third.
TEST_F(Heard, where_the_route_lowers_the_least_rto_late_probes_are_not_taken_for_early_ones) {
  info_.tcpi_rto = 5'000;
  info_.tcpi_backoff = 3;
  probe();
  EXPECT_EQ(silent_within(2s), 1s);
}

}  // namespace
}  // namespace railweave::wire
