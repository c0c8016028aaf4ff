#include "engine/health/peer_heartbeat.h"

#include <gtest/gtest.h>

#include <string>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

class PeerHeartbeatTest : public testing::Test {
 protected:
  // Polls every 50 ms for `time`. Returns the verdicts, a letter each; counts the probes in probes_.
  std::string look_for(Nanos time, bool answers, bool waits = true, bool kernel_answers = true) {
    std::string said;
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += 50ms;
      switch (heartbeat_.observe(now_, consumed_, waits, kernel_answers)) {
        case PeerHeartbeat::Verdict::fine: break;
        case PeerHeartbeat::Verdict::probe_due:
          ++probes_;
          if (answers) ++consumed_;
          break;
        case PeerHeartbeat::Verdict::stopped: said += "s"; break;
        case PeerHeartbeat::Verdict::back: said += "b"; break;
        case PeerHeartbeat::Verdict::gone: said += "g"; break;
      }
    }
    return said;
  }

  PeerHeartbeat heartbeat_{20s};
  TimePoint now_{1h};
  std::uint64_t consumed_ = 0;
  int probes_ = 0;
};

TEST_F(PeerHeartbeatTest, a_peer_that_answers_is_asked_every_second_and_stays_fine) {
  EXPECT_EQ(look_for(60s, true), "");
  EXPECT_GE(probes_, 50);
  EXPECT_LE(probes_, 60);
}

TEST_F(PeerHeartbeatTest, a_peer_that_sends_frames_is_not_asked) {
  for (int i = 0; i < 100; ++i, ++consumed_) EXPECT_EQ(look_for(500ms, false), "");
  EXPECT_EQ(probes_, 0);
}

TEST_F(PeerHeartbeatTest, a_peer_that_nobody_waits_for_is_not_asked) {
  EXPECT_EQ(look_for(600s, false, false), "");
  EXPECT_EQ(probes_, 0);
  EXPECT_EQ(look_for(4900ms, false), "") << "from when somebody does";
}

TEST_F(PeerHeartbeatTest, a_stopped_peer_is_reported_after_5_s_and_when_it_is_back) {
  look_for(1s, true);
  EXPECT_EQ(look_for(4s, false), "");
  EXPECT_EQ(look_for(10s, false), "s");
  ++consumed_;
  EXPECT_EQ(look_for(50ms, false), "b");
  EXPECT_EQ(look_for(10s, false), "s");
}

TEST_F(PeerHeartbeatTest, a_peer_that_is_stopped_for_the_whole_timeout_is_gone) {
  EXPECT_EQ(look_for(19s, false), "s");
  EXPECT_EQ(look_for(1100ms, false).front(), 'g');
}

// Both ends of a job are suspended and resumed. The end that wakes first has not heard the other for hours.
TEST_F(PeerHeartbeatTest, a_pause_of_our_own_process_does_not_count) {
  look_for(1s, true);
  now_ += 1h;
  EXPECT_EQ(look_for(4s, false), "");
  now_ += 1h;
  EXPECT_EQ(look_for(4s, false), "s") << "what was awake counts on";
  EXPECT_EQ(look_for(20s, false).front(), 'g');
}

TEST_F(PeerHeartbeatTest, time_of_a_silent_kernel_does_not_count_and_other_time_does) {
  look_for(1s, true);
  EXPECT_EQ(look_for(4s, false), "");
  EXPECT_EQ(look_for(60s, false, true, false), "");
  EXPECT_EQ(look_for(1100ms, false), "s");
  EXPECT_EQ(look_for(60s, false, true, false), "");
  EXPECT_EQ(look_for(15s, false).front(), 'g');
}

TEST_F(PeerHeartbeatTest, a_peer_is_never_gone_without_a_timeout) {
  PeerHeartbeat patient(Nanos{0});
  for (int i = 0; i < 100000; ++i) EXPECT_NE(patient.observe(now_ += 1s, 0, true, true), PeerHeartbeat::Verdict::gone);
}

// A probe sent by two lanes, behind 100 bytes on each.
class HeartbeatProbeTest : public testing::Test {
 protected:
  HeartbeatProbeTest() {
    probe_.goes_by({0, 7, 100, 0});
    probe_.goes_by({1, 8, 100, 0});
  }
  bool travels_after(Nanos time, std::optional<std::uint64_t> first, std::optional<std::uint64_t> second) {
    now_ += time;
    probe_.observe(now_, [&](const HeartbeatProbe::Path& way) { return way.place == 0 ? first : second; });
    return probe_.travels(now_);
  }

  HeartbeatProbe probe_;
  TimePoint now_{1h};
};

TEST_F(HeartbeatProbeTest, a_probe_travels_while_one_of_its_lanes_moves) {
  EXPECT_TRUE(travels_after(900ms, 10, 0));
  EXPECT_TRUE(travels_after(900ms, 10, 0));
  EXPECT_TRUE(travels_after(900ms, 10, 50));
  EXPECT_TRUE(probe_.is_unanswered());
  EXPECT_FALSE(travels_after(1s, 10, 50)) << "a stopped peer's kernel has taken what it can";
}

TEST_F(HeartbeatProbeTest, a_probe_has_arrived_when_the_first_lane_brought_it) {
  EXPECT_FALSE(travels_after(10ms, 50, 100));
  EXPECT_TRUE(probe_.is_unanswered()) << "and no other is sent";
  EXPECT_FALSE(travels_after(10ms, 60, 120));
  probe_.answered();
  EXPECT_FALSE(probe_.is_unanswered());
}

TEST_F(HeartbeatProbeTest, a_probe_that_is_lost_with_its_lanes_is_to_be_sent_again) {
  EXPECT_TRUE(travels_after(10ms, {}, 10));
  EXPECT_FALSE(travels_after(10ms, {}, {}));
  EXPECT_FALSE(probe_.is_unanswered());
}

}  // namespace
}  // namespace railweave::engine
