#include "common/control_connection.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "base/clock.h"
#include "base/named_socket.h"

namespace railweave::perf {
namespace {

class ControlConnectionTest : public testing::Test {
 protected:
  ControlConnectionTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    raw_ = ends[1];
    zero_ = std::make_unique<ControlConnection>(0, OwnedFd(ends[0]));
    one_ = std::make_unique<ControlConnection>(1, OwnedFd(ends[1]));
  }
  int raw_ = -1;  // the socket of one_, for bytes that are no message
  std::unique_ptr<ControlConnection> zero_, one_;
};

TEST_F(ControlConnectionTest, messages_arrive_whole_and_in_order) {
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

TEST_F(ControlConnectionTest, exchange_and_barrier_meet) {
  std::thread other([&] {
    EXPECT_EQ(one_->exchange("one").value(), "zero");
    EXPECT_TRUE(one_->barrier().ok());
  });
  EXPECT_EQ(zero_->exchange("zero").value(), "one");
  EXPECT_TRUE(zero_->barrier().ok());
  other.join();
}

TEST_F(ControlConnectionTest, a_rank_that_left_is_an_error_after_what_it_said) {
  EXPECT_TRUE(one_->send("last word").ok());
  one_.reset();
  EXPECT_EQ(zero_->receive().value(), "last word");
  EXPECT_EQ(zero_->receive().status().code(), Code::remote);
  EXPECT_EQ(zero_->try_receive().status().code(), Code::remote);
}

TEST_F(ControlConnectionTest, check_peer__sees_that_the_peer_has_gone_and_takes_no_message) {
  EXPECT_TRUE(zero_->check_peer().ok());
  EXPECT_TRUE(one_->send("last word").ok());
  EXPECT_TRUE(zero_->check_peer().ok());
  one_.reset();
  EXPECT_EQ(zero_->check_peer().code(), Code::remote);
  EXPECT_EQ(zero_->receive().value(), "last word");
}

TEST_F(ControlConnectionTest, silence_has_an_end) {
  EXPECT_EQ(zero_->receive(std::chrono::milliseconds(50)).status().code(), Code::timed_out);
}

TEST_F(ControlConnectionTest, receive__refuses_bytes_that_are_not_a_ranks) {
  const char http[] = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_GT(::send(raw_, http, sizeof http, 0), 0);
  const auto heard = zero_->receive();
  ASSERT_FALSE(heard.ok());
  EXPECT_NE(heard.status().message().find("not a rank"), std::string::npos);
}

std::uint16_t free_port() {
  OwnedFd probe(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(probe.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

constexpr Nanos kShort = std::chrono::milliseconds(300);

TEST(ControlConnection, meet__connects_the_ranks_of_one_program) {
  const std::uint16_t port = free_port();
  std::thread other([&] { EXPECT_TRUE(ControlConnection::meet(1, "127.0.0.1", port).ok()); });
  const auto zero = ControlConnection::meet(0, "127.0.0.1", port);
  other.join();
  EXPECT_TRUE(zero.ok()) << zero.status().message();
}

TEST(ControlConnection, meet__ranks_with_different_ports_time_out_and_name_them) {
  const TimePoint start = now();
  for (const int rank : {0, 1}) {
    const std::uint16_t port = free_port();
    const auto met = ControlConnection::meet(rank, "127.0.0.1", port, kShort);
    ASSERT_FALSE(met.ok());
    EXPECT_EQ(met.status().code(), Code::timed_out);
    EXPECT_NE(met.status().message().find("127.0.0.1 port " + std::to_string(port)), std::string::npos);
    EXPECT_NE(met.status().message().find("0.3 s"), std::string::npos) << met.status().message();
  }
  EXPECT_LT(now() - start, std::chrono::seconds(3));
}

TEST(ControlConnection, meet__a_second_rank_of_the_same_number_is_refused) {
  const std::uint16_t port = free_port();
  std::thread stranger([&] {
    auto connected = connect_to("127.0.0.1", port, std::chrono::seconds(20));
    ASSERT_TRUE(connected.ok()) << connected.status().message();
    ControlConnection same(0, std::move(*connected));
    EXPECT_TRUE(same.send("rank 0 of perf_tests").ok());
    (void)same.receive();
  });
  const auto met = ControlConnection::meet(0, "127.0.0.1", port);
  stranger.join();
  ASSERT_FALSE(met.ok());
  EXPECT_NE(met.status().message().find("is 'rank 0 of perf_tests', expected 'rank 1 of "), std::string::npos)
      << met.status().message();
}

TEST(ControlConnection, meet__a_silent_peer_times_out) {
  OwnedFd listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
  EXPECT_EQ(ControlConnection::meet(1, "127.0.0.1", ntohs(address.sin_port), kShort).status().code(), Code::timed_out);
}

}  // namespace
}  // namespace railweave::perf
