#include "top/frame.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace railweave::top {
namespace {

EngineView example() {
  EngineView view;
  view.engine = {"/tmp/x.sock", 7, 7, "python3"};
  view.sessions = 2;
  view.pending = 3;
  view.oldest_request_age = std::chrono::milliseconds(1500);
  view.since = std::chrono::seconds(1);
  view.rails = {{"eth0", 2, Rate::from_megabits(2000), Rate::from_megabits(10), 4096, 5}};
  return view;
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.npos, text.find(part)) << part << "\n" << text;
}

TEST(FrameText, shows_each_rail_of_each_process) {
  expect_parts(frame_text({example(), example()}),
               {"Process 7 (python3), 2 sessions, 3 requests pending, the oldest for 1.50 s\n",
                "  RAIL  LANES    SENDING  RECEIVING  IN FLIGHT  RETRANSMITS/S\n",
                "  eth0      2  2.00 Gb/s  10.0 Mb/s    4.10 KB              5\n", "\n\nProcess 7"});
}

TEST(FrameText, has_no_rates_before_the_second_sample) {
  EngineView view = example();
  view.since = Nanos(0);
  expect_parts(frame_text({view}), {"  eth0      2        -          -    4.10 KB              0\n"});
}

TEST(FrameText, names_an_engine_that_does_not_answer) {
  EngineView view = example();
  view.no_answer = "timed out";
  expect_parts(frame_text({view}), {"Process 7 (python3): no answer: timed out\n"});
}

TEST(FrameText, tells_that_no_process_has_an_engine) {
  EXPECT_EQ("No process with an engine, or none that this user may ask.\n", frame_text({}));
}

TEST(FrameText, passes_no_control_sequence_to_the_terminal) {
  EngineView view = example();
  view.engine.command = "\x1b[2Jevil\n\x9b";
  view.rails[0].rail = "e\x1bth";
  EXPECT_EQ(std::string::npos, frame_text({view}).find('\x1b'));
  expect_parts(frame_text({view}), {"Process 7 (?[2Jevil?"
                                    "?)",
                                    "  e?th"});
}

TEST(FrameJson, has_every_figure_of_the_text_on_one_line) {
  EngineView silent = example();
  silent.no_answer = "timed out";
  const std::string text = frame_json({example(), silent});
  EXPECT_EQ(text.npos, text.find('\n'));
  const auto engines = nlohmann::json::parse(text)["engines"];
  EXPECT_EQ(7, engines[0]["pid"]);
  EXPECT_EQ(1.0, engines[0]["seconds"]);
  EXPECT_EQ(3, engines[0]["pending"]);
  EXPECT_EQ(1'500'000'000, engines[0]["oldest_request_age_ns"]);
  EXPECT_EQ(250e6, engines[0]["rails"][0]["sending_bytes_per_s"]);
  EXPECT_EQ(5, engines[0]["rails"][0]["retransmits"]);
  EXPECT_EQ("timed out", engines[1]["error"]);
  EXPECT_FALSE(engines[1].contains("rails"));
}

TEST(FitScreen, leaves_out_lines_and_says_how_many) {
  EXPECT_EQ("one\ntwo\n", fit_screen("one\ntwo\n", 2, 80));
  EXPECT_EQ("one\n... 2 more lines\n", fit_screen("one\ntwo\nthree\n", 2, 80));
  EXPECT_EQ("... 3 more lines\n", fit_screen("one\ntwo\nthree\n", 0, 80));
}

TEST(FitScreen, cuts_lines_at_the_screens_edge) { EXPECT_EQ("on\nt\n", fit_screen("one\nt\n", 9, 2)); }

}  // namespace
}  // namespace railweave::top
