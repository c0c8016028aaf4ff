#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace railweave {
namespace {

struct Line {
  LogLevel level;
  LogTopic topic;
  std::string file, text;
};
std::vector<Line> lines;

void keep_line(LogLevel level, LogTopic topic, const char* file, int, std::string_view text) {
  lines.push_back({level, topic, file, std::string(text)});
}

class LogTest : public testing::Test {
 protected:
  void SetUp() override { lines.clear(), before_ = set_log_sink(keep_line); }
  void TearDown() override { set_log_sink(before_); }

 private:
  LogSink before_ = nullptr;
};

TEST_F(LogTest, a_line_is_formatted_and_has_level_topic_and_file) {
  RW_WARN(net, "rail {} lost after {:.1f} s", "eth0", 1.25);
  RW_INFO(init, "ready");
  RW_TRACE(env, "{}", 7);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].text, "rail eth0 lost after 1.2 s");
  EXPECT_EQ(lines[0].level, LogLevel::warn);
  EXPECT_EQ(lines[0].topic, LogTopic::net);
  EXPECT_EQ(lines[0].file, "tests/unit/base/log_test.cc");
  EXPECT_EQ(lines[1].level, LogLevel::info);
  EXPECT_EQ(lines[2].topic, LogTopic::env);
}

TEST_F(LogTest, long_lines_are_cut_at_a_whole_character) {
  RW_INFO(net, "{}", std::string(kLogLineBytes, 'x'));
  EXPECT_EQ(lines.back().text, std::string(kLogLineBytes, 'x'));
  RW_INFO(net, "{}", std::string(5000, 'x'));
  EXPECT_EQ(lines.back().text, std::string(kLogLineBytes - 3, 'x') + "...");
  for (std::size_t before = 0; before < 4; ++before) {
    std::string text(before, 'x');
    while (text.size() < 2000) text += "\u20ac";
    RW_INFO(net, "{}", text);
    const std::string& cut = lines.back().text;
    ASSERT_LE(cut.size(), kLogLineBytes);
    EXPECT_EQ((cut.size() - 3 - before) % 3, 0u) << "a torn character";
    EXPECT_EQ(cut.substr(0, cut.size() - 3), text.substr(0, cut.size() - 3));
  }
}

TEST_F(LogTest, no_line_ends_in_a_newline) {
  RW_INFO(net, "a\n");
  RW_INFO(net, "b\n\n");
  EXPECT_EQ(lines[0].text, "a");
  EXPECT_EQ(lines[1].text, "b");
}

// Names and reasons arrive from the network: they must not imitate log lines or control a terminal.
TEST_F(LogTest, control_bytes_become_question_marks) {
  RW_WARN(net, "peer {} €", std::string("evil\nNCCL WARN all is lost\r\x1b[31m\t\x7f\0.", 36));
  EXPECT_EQ(lines[0].text, "peer evil?NCCL WARN all is lost??[31m???. €");
}

TEST_F(LogTest, without_a_sink_nothing_is_written_or_evaluated) {
  int evaluated = 0;
  EXPECT_EQ(set_log_sink(nullptr), keep_line);
  RW_WARN(net, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  EXPECT_EQ(set_log_sink(keep_line), nullptr);
  RW_WARN(net, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(lines.size(), 1u);
}

TEST(LogToStderr, writes_one_whole_line_with_its_level) {
  testing::internal::CaptureStderr();
  log_to_stderr(LogLevel::warn, LogTopic::net, "file.cc", 1, "rail eth0 lost");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "railweave WARN rail eth0 lost\n");
}

}  // namespace
}  // namespace railweave
