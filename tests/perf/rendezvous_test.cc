#include "common/rendezvous.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

namespace railweave::perf {
namespace {

class RendezvousTest : public testing::Test {
 protected:
  RendezvousTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    raw_ = ends[1];
    zero_ = std::make_unique<Rendezvous>(0, OwnedFd(ends[0]));
    one_ = std::make_unique<Rendezvous>(1, OwnedFd(ends[1]));
  }
  int raw_ = -1;  // the socket of one_, to speak nonsense on
  std::unique_ptr<Rendezvous> zero_, one_;
};

TEST_F(RendezvousTest, messages_arrive_whole_and_in_order) {
  const std::string large(1 << 20, 'x');
  std::thread other([&] {
    EXPECT_TRUE(one_->send("first").ok());
    EXPECT_TRUE(one_->send("").ok());
    EXPECT_TRUE(one_->send(large).ok());
  });
  EXPECT_EQ(zero_->receive().value(), "first");
  EXPECT_EQ(zero_->receive().value(), "");
  EXPECT_EQ(zero_->receive().value(), large);
  other.join();
  EXPECT_FALSE(zero_->try_receive().value().has_value());
}

TEST_F(RendezvousTest, exchange_and_barrier_meet) {
  std::thread other([&] {
    EXPECT_EQ(one_->exchange("one").value(), "zero");
    EXPECT_TRUE(one_->barrier().ok());
  });
  EXPECT_EQ(zero_->exchange("zero").value(), "one");
  EXPECT_TRUE(zero_->barrier().ok());
  other.join();
}

TEST_F(RendezvousTest, a_rank_that_left_is_an_error_after_what_it_said) {
  EXPECT_TRUE(one_->send("last word").ok());
  one_.reset();
  EXPECT_EQ(zero_->receive().value(), "last word");
  EXPECT_EQ(zero_->receive().status().code(), Code::remote);
  EXPECT_EQ(zero_->try_receive().status().code(), Code::remote);
}

TEST_F(RendezvousTest, silence_has_an_end) {
  EXPECT_EQ(zero_->receive(std::chrono::milliseconds(50)).status().code(), Code::timed_out);
}

TEST_F(RendezvousTest, a_stranger_is_told_from_a_rank) {
  const char http[] = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_GT(::send(raw_, http, sizeof http, 0), 0);
  const auto heard = zero_->receive();
  ASSERT_FALSE(heard.ok());
  EXPECT_NE(heard.status().message().find("not a rank"), std::string::npos);
}

}  // namespace
}  // namespace railweave::perf
