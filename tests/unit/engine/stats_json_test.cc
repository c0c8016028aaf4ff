#include "engine/stats/stats_json.h"

#include <gtest/gtest.h>
#include <limits>

namespace railweave::engine {
namespace {

EngineStats example() {
  LaneStats lane;
  lane.wire = "verbs";
  lane.rail = "eth0";
  lane.local_address = "10.0.0.1:40000";
  lane.remote_address = "[fd00::2]:41000";
  lane.bytes_sent = ~std::uint64_t{0};
  lane.bytes_received = 2;
  lane.frames_sent = 3;
  lane.frames_received = 4;
  lane.write_calls = 5;
  lane.read_calls = 6;
  lane.outstanding_bytes = 7;
  lane.retransmits = 8;
  lane.damaged_frames = 14;
  lane.rate.bytes_per_s = 1.25e9;
  lane.min_rtt = Nanos(31'000);
  lane.send_window_bytes = 17;
  lane.recv_window_bytes = 18;
  lane.rail_senders = 19;
  lane.without_credit = Nanos(20);
  SessionStats session;
  session.peer = "hostb 4711 0123456789abcdef";
  session.lanes = {lane, LaneStats{}};
  session.send_streams = 9;
  session.recv_streams = 10;
  session.sends_pending = 11;
  session.recvs_pending = 12;
  session.control_frames = 15;
  session.control_frames_retransmitted = 16;
  session.oldest_request_age = std::chrono::milliseconds(13);
  EngineStats stats;
  stats.instance = "00112233445566778899aabbccddeeff";
  stats.rails = {{"eth0", {"10.0.0.1", "fd00::1"}, true}, {"eth1", {}, false}};
  stats.sessions = {session, SessionStats{}};
  return stats;
}

TEST(StatsJson, comes_back_as_it_went) {
  const std::string text = to_json(example());
  EXPECT_EQ(text.npos, text.find('\n'));
  const Result<EngineStats> back = stats_from_json(text);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(text, to_json(back.value()));
  ASSERT_EQ(2u, back.value().rails.size());
  EXPECT_EQ("eth0", back.value().rails[0].name);
  EXPECT_EQ((std::vector<std::string>{"10.0.0.1", "fd00::1"}), back.value().rails[0].addresses);
  EXPECT_TRUE(back.value().rails[0].link_up);
  EXPECT_TRUE(back.value().rails[1].addresses.empty());
  EXPECT_FALSE(back.value().rails[1].link_up);
  ASSERT_EQ(2u, back.value().sessions.size());
  const SessionStats& session = back.value().sessions[0];
  EXPECT_EQ(std::chrono::milliseconds(13), session.oldest_request_age);
  EXPECT_EQ(12u, session.recvs_pending);
  EXPECT_EQ(15u, session.control_frames);
  EXPECT_EQ(16u, session.control_frames_retransmitted);
  ASSERT_EQ(2u, session.lanes.size());
  EXPECT_EQ(~std::uint64_t{0}, session.lanes[0].bytes_sent);
  EXPECT_EQ(Nanos(31'000), session.lanes[0].min_rtt);
  EXPECT_EQ(14u, session.lanes[0].damaged_frames);
  EXPECT_EQ(17u, session.lanes[0].send_window_bytes);
  EXPECT_EQ(18u, session.lanes[0].recv_window_bytes);
  EXPECT_EQ(19u, session.lanes[0].rail_senders);
  EXPECT_EQ(Nanos(20), session.lanes[0].without_credit);
  EXPECT_DOUBLE_EQ(1.25e9, session.lanes[0].rate.bytes_per_s);
  EXPECT_EQ("[fd00::2]:41000", session.lanes[0].remote_address);
  EXPECT_EQ("verbs", session.lanes[0].wire);
}

TEST(StatsJson, odd_bytes_in_names_do_not_break_it) {
  EngineStats stats = example();
  stats.sessions[0].peer = "a\"b\\c\n\xff\xfe";
  stats.sessions[0].lanes[0].rate.bytes_per_s = std::numeric_limits<double>::infinity();
  const Result<EngineStats> back = stats_from_json(to_json(stats));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ("a\"b\\c\n??", back.value().sessions[0].peer);
  EXPECT_DOUBLE_EQ(0, back.value().sessions[0].lanes[0].rate.bytes_per_s);
}

TEST(StatsJson, missing_and_unknown_fields_are_borne) {
  const Result<EngineStats> stats = stats_from_json(R"({"new": [1], "sessions": [{"lanes": [{"colour": "blue"}]}]})");
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(1u, stats.value().sessions[0].lanes.size());
}

TEST(StatsJson, nonsense_is_named) {
  const auto message = [](std::string_view text) {
    const Result<EngineStats> stats = stats_from_json(text);
    return stats.ok() ? std::string("ok") : stats.status().message();
  };
  EXPECT_EQ("statistics: not JSON", message(""));
  EXPECT_EQ("statistics: not JSON", message("{\"instance\":"));
  EXPECT_EQ("statistics: not a JSON object", message("[]"));
  EXPECT_EQ("statistics: \"instance\" is not a string", message(R"({"instance": 5})"));
  EXPECT_EQ("statistics: \"sessions\" is not an array", message(R"({"sessions": {}})"));
  EXPECT_EQ("statistics: not a JSON object", message(R"({"sessions": [7]})"));
  EXPECT_EQ("statistics: \"send_streams\" is not a count", message(R"({"sessions": [{"send_streams": 4294967296}]})"));
  EXPECT_EQ("statistics: \"sends_pending\" is not a count", message(R"({"sessions": [{"sends_pending": -1}]})"));
  EXPECT_EQ("statistics: \"min_rtt_ns\" is not a number of nanoseconds",
            message(R"({"sessions": [{"lanes": [{"min_rtt_ns": 18446744073709551615}]}]})"));
  EXPECT_EQ("statistics: \"link_up\" is not true or false", message(R"({"rails": [{"link_up": 1}]})"));
  EXPECT_EQ("statistics: \"addresses\" is not an array of strings", message(R"({"rails": [{"addresses": [4]}]})"));
  EXPECT_EQ("statistics: \"rate_bytes_per_s\" is not a number",
            message(R"({"sessions": [{"lanes": [{"rate_bytes_per_s": "fast"}]}]})"));
}

}  // namespace
}  // namespace railweave::engine
