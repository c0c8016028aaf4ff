#include "engine/rails/link_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "tests/unit/engine/on_reactor.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using discovery::LinkState;

class LinkWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const int ifindex : {7, 9}) {
      Rail rail;
      rail.name = "eth" + std::to_string(ifindex);
      rail.ifindex = ifindex;
      rails_.push_back(rail);
    }
    ASSERT_TRUE(reactor_.start().ok());
    on_reactor(reactor_, [this] {
      watch_ = std::make_unique<LinkWatch>(reactor_, rails_);
      watch_->open([this](int rail, bool up) { reported_ += std::to_string(rail) + (up ? "+" : "-"); },
                   [this](int rail) { rails_[std::size_t(rail)].ifindex = 0; }, [] { return true; });
    });
  }
  void TearDown() override {
    on_reactor(reactor_, [this] { watch_.reset(); });
  }
  void apply(std::vector<LinkState> news) {
    on_reactor(reactor_, [&] { watch_->apply(news); });
  }
  // Returns the reports so far, after more time than a change must last.
  std::string told() {
    std::this_thread::sleep_for(3 * LinkWatch::kSteady);
    std::string told;
    on_reactor(reactor_, [&] { told = reported_; });
    return told;
  }

  std::vector<Rail> rails_;
  Reactor reactor_;
  std::unique_ptr<LinkWatch> watch_;
  std::string reported_;  // belongs to the reactor's thread
};

TEST_F(LinkWatchTest, is_up__is_the_state_reported_last) {
  EXPECT_TRUE(watch_->is_up(0) && watch_->is_up(1));
  apply({{9, false}});
  EXPECT_EQ(told(), "1-");
  EXPECT_TRUE(watch_->is_up(0));
  EXPECT_FALSE(watch_->is_up(1));
  apply({{9, true}});
  EXPECT_EQ(told(), "1-1+");
  EXPECT_TRUE(watch_->is_up(1));
}

TEST_F(LinkWatchTest, apply__a_new_link_with_the_index_of_a_removed_one_is_no_rail) {
  apply({{7, false, true}, {7, true}});
  EXPECT_EQ(told(), "0-");
}

TEST_F(LinkWatchTest, apply__rails_that_change_are_reported) {
  apply({{7, true}, {3, false}});
  EXPECT_EQ(told(), "");
  apply({{9, false}});
  EXPECT_EQ(told(), "1-");
  apply({{9, false}, {7, false}});
  EXPECT_EQ(told(), "1-0-");
  apply({{9, true}});
  EXPECT_EQ(told(), "1-0-1+");
}

TEST_F(LinkWatchTest, apply__new_rails_and_replaced_interfaces_are_reported) {
  apply({{9, false}});
  EXPECT_EQ(told(), "1-");
  on_reactor(reactor_, [this] {
    rails_[1].ifindex = 12;
    rails_.push_back(rails_[0]);
    rails_[2].ifindex = 11;
    watch_->apply({{12, true}, {11, true}});
  });
  EXPECT_EQ(told(), "1-1+");
  apply({{11, false}, {9, false}});
  EXPECT_EQ(told(), "1-1+2-");
}

TEST_F(LinkWatchTest, apply__a_change_that_does_not_last_is_not_reported) {
  apply({{7, false}, {7, true}});
  on_reactor(reactor_, [this] {
    watch_->apply({{9, false}});
    watch_->apply({{9, true}});
  });
  EXPECT_EQ(told(), "");
}

}  // namespace
}  // namespace railweave::engine
