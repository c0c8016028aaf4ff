#include "engine/lane_signs.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using Places = std::vector<int>;

constexpr Nanos kTimeout = 10s;

// Lanes that are looked at every 50 ms, as the reactor does.
class Looking : public testing::Test {
 protected:
  struct Line {
    bool answers = true;
    bool owed = true;
    bool open = true;
    std::uint32_t generation = 1;
    bool link_down = false;
  };

  // Looks for so long; what was found last, and who was ever given up or asked.
  LaneSigns::Verdict look_for(Nanos time) {
    LaneSigns::Verdict last;
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += 50ms;
      std::vector<std::optional<LaneSign>> signs(lines_.size());
      silent_since_.resize(lines_.size());
      heard_.resize(lines_.size());
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        const Line& line = lines_[i];
        if (line.answers && line.owed) ++heard_[i];
        if (line.answers || !line.owed) silent_since_[i].reset();
        else if (!silent_since_[i]) silent_since_[i] = now_;
        if (line.open) signs[i] = LaneSign{line.generation, heard_[i], silent_since_[i], line.link_down, line.owed};
      }
      last = signs_.look(now_, signs);
      given_up_.insert(given_up_.end(), last.given_up.begin(), last.given_up.end());
      asked_.insert(asked_.end(), last.asked.begin(), last.asked.end());
    }
    return last;
  }

  LaneSigns signs_{kTimeout};
  TimePoint now_{1h};
  std::vector<Line> lines_;
  std::vector<std::optional<TimePoint>> silent_since_;
  std::vector<std::uint64_t> heard_;
  Places given_up_, asked_;
};

TEST_F(Looking, while_all_answer_nothing_follows) {
  lines_ = {{}, {}};
  const auto verdict = look_for(30s);
  EXPECT_FALSE(verdict.peer_is_silent);
  EXPECT_EQ(given_up_, Places{});
  EXPECT_EQ(asked_, Places{});
}

TEST_F(Looking, a_silent_lane_is_given_up_after_a_second__while_another_is_heard) {
  lines_ = {{}, {}, {}};
  look_for(1s);
  lines_[1].answers = false;
  look_for(1s);
  EXPECT_EQ(given_up_, Places{});
  look_for(100ms);
  ASSERT_FALSE(given_up_.empty());
  EXPECT_EQ(given_up_.front(), 1);
  EXPECT_EQ(given_up_.back(), 1);
}

TEST_F(Looking, one_that_owes_nothing_is_asked_first) {
  lines_ = {{}, {.owed = false}};
  look_for(1s);
  lines_[0].answers = false;
  look_for(600ms);
  ASSERT_FALSE(asked_.empty());
  EXPECT_EQ(asked_.front(), 1);
  lines_[1].owed = true;  // it is asked, and answers
  look_for(600ms);
  ASSERT_FALSE(given_up_.empty());
  EXPECT_EQ(given_up_.front(), 0);
}

TEST_F(Looking, when_all_are_silent_it_is_the_peer__and_none_is_given_up) {
  lines_ = {{}, {}};
  look_for(1s);
  lines_[0].answers = lines_[1].answers = false;
  EXPECT_FALSE(look_for(900ms).peer_is_silent);
  EXPECT_TRUE(look_for(300ms).peer_is_silent);
  const auto late = look_for(8s);
  EXPECT_TRUE(late.peer_is_silent);
  EXPECT_FALSE(late.peer_is_gone);
  lines_[0].answers = true;
  EXPECT_FALSE(look_for(100ms).peer_is_silent);
  EXPECT_EQ(given_up_.front(), 1) << "while 0 is heard";
}

TEST_F(Looking, a_peer_is_gone_when_nothing_was_heard_for_its_timeout) {
  lines_ = {{}, {.owed = false}};  // that is asked, and nobody takes the question
  look_for(1s);
  lines_[0].answers = lines_[1].answers = false;
  EXPECT_FALSE(look_for(kTimeout - 100ms).peer_is_gone);
  EXPECT_TRUE(look_for(400ms).peer_is_gone);
  EXPECT_EQ(given_up_, Places{});
}

TEST_F(Looking, a_new_lane_is_a_sign_of_life) {
  lines_ = {{}, {}};
  look_for(1s);
  lines_[0].answers = lines_[1].answers = false;
  EXPECT_TRUE(look_for(5s).peer_is_silent);
  lines_.push_back({.owed = false});
  EXPECT_FALSE(look_for(50ms).peer_is_silent);
  EXPECT_EQ(given_up_, (Places{0, 1}));
}

TEST_F(Looking, a_place_has_the_signs_of_the_lane_that_is_there_now) {
  lines_ = {{}, {}};
  look_for(1s);
  lines_[0].answers = lines_[1].answers = false;
  look_for(5s);
  lines_[1] = {.answers = true, .owed = false, .generation = 2};
  EXPECT_FALSE(look_for(50ms).peer_is_silent);
  EXPECT_EQ(given_up_, Places{0});
  lines_[0].open = false;
  EXPECT_FALSE(look_for(30s).peer_is_silent) << "nobody owes an answer";
}

TEST_F(Looking, a_lane_without_a_link_is_given_up_at_once__while_another_one_works) {
  lines_ = {{}, {.owed = false}};
  look_for(1s);
  lines_[0].link_down = true;
  look_for(50ms);
  EXPECT_EQ(given_up_, Places{0});
}

TEST_F(Looking, without_any_link_none_is_given_up) {
  lines_ = {{}, {}};
  look_for(1s);
  for (Line& line : lines_) line.link_down = true, line.answers = false;
  EXPECT_TRUE(look_for(5s).peer_is_silent);
  EXPECT_EQ(given_up_, Places{});
  lines_[1].link_down = false;
  lines_[1].answers = true;
  look_for(50ms);
  EXPECT_EQ(given_up_, Places{0});
}

}  // namespace
}  // namespace railweave::engine
