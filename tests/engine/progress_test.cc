// Progress without callers: requests complete though their callers do not test them.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/clock.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

class ReactorProgress : public testing::Test {
 protected:
  void SetUp() override {
    Config config = loopback();
    config.eager_limit_bytes = 16 * KiB;
    a_ = start_engine(config);
    b_ = start_engine(config);
    ASSERT_TRUE(a_ && b_);
    there_ = join(*a_, *b_);
    back_ = join(*b_, *a_);
    ASSERT_TRUE(there_ && back_);
  }
  std::shared_ptr<Engine> a_, b_;
  Ends there_, back_;
};

TEST_F(ReactorProgress, a_send_left_alone_arrives) {
  const auto data = pattern(3 << 20, 1);
  std::vector<std::byte> place(data.size());
  Request* const send = post_send(*there_.send, data);
  Request* const receive = post_recv(*there_.recv, place);
  const Result<std::size_t> received = finish(*there_.recv, receive, 5s);  // the sender never tests
  ASSERT_TRUE(received.ok()) << received.status().message();
  EXPECT_TRUE(place == data);
  EXPECT_TRUE(finish(*there_.send, send).ok());
}

TEST_F(ReactorProgress, a_receive_left_alone_lets_the_sender_finish) {
  const auto data = pattern(3 << 20, 1);
  std::vector<std::byte> place(data.size());
  Request* const receive = post_recv(*there_.recv, place);
  Request* const send = post_send(*there_.send, data);
  const Result<std::size_t> sent = finish(*there_.send, send, 5s);
  ASSERT_TRUE(sent.ok()) << sent.status().message();
  EXPECT_TRUE(finish(*there_.recv, receive).ok());
  EXPECT_TRUE(place == data);
}

// A caller that tests an older request just before its post does not promise to test again: the reactor must send.
TEST_F(ReactorProgress, a_post_right_behind_a_lone_test_is_not_forgotten) {
  std::mt19937 random(1);
  std::vector<std::byte> place(64), waiting(64);
  const auto data = pattern(64, 9);
  Request* const idle = post_recv(*back_.recv, waiting);  // never completes
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    Request* const receive = post_recv(*there_.recv, place);
    std::this_thread::sleep_for(std::chrono::microseconds(5000 + random() % 10000));
    ASSERT_TRUE(back_.recv->test(idle).ok());
    Request* const send = post_send(*there_.send, data);
    // From here on only b's caller tests.
    const Result<std::size_t> received = finish(*there_.recv, receive, 3s);
    ASSERT_TRUE(received.ok()) << received.status().message();
    ASSERT_TRUE(finish(*there_.send, send).ok());
  }
}

// NCCL tests only the oldest request of a comm: the younger ones must move all the same.
TEST_F(ReactorProgress, younger_requests_move_though_only_the_oldest_is_tested) {
  constexpr std::size_t kRequests = 4;
  const auto data = pattern(200'000, 5);
  std::vector<std::vector<std::byte>> places(kRequests, std::vector<std::byte>(data.size()));
  std::vector<Request*> receives, sends;
  for (auto& place : places) receives.push_back(post_recv(*there_.recv, place));
  for (std::size_t i = 0; i < kRequests; ++i) sends.push_back(post_send(*there_.send, data));
  Result<Progress> received = Progress{}, sent = Progress{};
  ASSERT_TRUE(eventually([&] {
    if (!received->done) received = there_.recv->test(receives[0]);
    if (!sent->done) sent = there_.send->test(sends[0]);
    return !received.ok() || !sent.ok() || (received->done && sent->done);
  }));
  ASSERT_TRUE(received.ok() && sent.ok());
  const auto arrived = [&] {
    std::uint64_t bytes = 0;
    const EngineStats stats = b_->stats();
    for (const LaneStats& lane : stats.sessions.front().lanes) bytes += lane.bytes_received;
    return bytes;
  };
  ASSERT_TRUE(eventually([&] { return arrived() >= kRequests * data.size(); }, 3s)) << arrived() << " bytes arrived";
  for (std::size_t i = 1; i < kRequests; ++i) {
    ASSERT_TRUE(finish(*there_.recv, receives[i]).ok() && finish(*there_.send, sends[i]).ok());
    ASSERT_TRUE(places[i] == data);
  }
}

// Callers poll and stop at random: the hand-over between callers and reactor loses nothing.
TEST_F(ReactorProgress, messages_arrive_while_callers_come_and_go) {
  const TimePoint deadline = now() + 6s;
  std::mt19937 random(7);
  int rounds = 0;
  for (; now() < deadline || rounds <= 20; ++rounds) {
    const std::size_t bytes = random() % 3 == 0 ? random() % 4'000'000 : random() % 20'000;
    const auto data = pattern(bytes, random());
    std::vector<std::byte> place(bytes);
    Request* const receive = post_recv(*there_.recv, place);
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 6000));
    Request* const send = post_send(*there_.send, data);
    // The sender polls a few times and stops.
    Result<Progress> sent = Progress{};
    for (unsigned polls = random() % 8; polls > 0 && sent.ok() && !sent->done; --polls) {
      sent = there_.send->test(send);
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 2500));
    }
    ASSERT_TRUE(sent.ok());
    for (unsigned polls = random() % 4; polls > 0; --polls)
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
    const Result<std::size_t> received = finish(*there_.recv, receive, 5s);
    ASSERT_TRUE(received.ok()) << received.status().message() << " in round " << rounds << " of " << bytes << " bytes";
    ASSERT_TRUE(place == data);
    if (!sent->done) {
      ASSERT_TRUE(finish(*there_.send, send).ok());
    }
  }
}

// Both ends post thousands of receives before either polls: grants must not fill the lane to a standstill.
TEST_F(ReactorProgress, thousands_of_receives_at_once_on_both_sides_complete) {
  constexpr int kStreams = 64, kPosts = 48;
  struct Pair {
    Ends ends;
    std::vector<std::vector<std::byte>> places;
    std::vector<Request*> receives, sends;
  };
  std::vector<Pair> pairs(2 * kStreams);
  for (int i = 0; i < 2 * kStreams; ++i) {
    pairs[std::size_t(i)].ends = i % 2 ? join(*a_, *b_) : join(*b_, *a_);
    ASSERT_TRUE(pairs[std::size_t(i)].ends);
  }
  std::this_thread::sleep_for(50ms);
  const auto data = pattern(20'000, 3);  // above the eager limit: needs its grant
  const auto post_all = [&](int parity) {
    for (int i = parity; i < 2 * kStreams; i += 2) {
      Pair& p = pairs[std::size_t(i)];
      p.places.assign(kPosts, std::vector<std::byte>(data.size()));
      for (auto& place : p.places) p.receives.push_back(post_recv(*p.ends.recv, place));
    }
  };
  std::thread other([&] { post_all(1); });
  post_all(0);
  other.join();
  for (Pair& p : pairs)
    for (int k = 0; k < kPosts; ++k) p.sends.push_back(post_send(*p.ends.send, data));
  for (Pair& p : pairs) {
    for (int k = 0; k < kPosts; ++k) {
      const Result<std::size_t> received = finish(*p.ends.recv, p.receives[std::size_t(k)], 10s);
      ASSERT_TRUE(received.ok()) << received.status().message();
      ASSERT_TRUE(p.places[std::size_t(k)] == data);
      ASSERT_TRUE(finish(*p.ends.send, p.sends[std::size_t(k)], 10s).ok());
    }
  }
}

TEST_F(ReactorProgress, ping_pong_of_callers_that_sleep_completes) {
  std::vector<std::byte> at_b(4096), at_a(4096);
  for (unsigned round = 0; round < 100; ++round) {
    const auto data = pattern(4096, round);
    Request* const ping_in = post_recv(*there_.recv, at_b);
    Request* const pong_in = post_recv(*back_.recv, at_a);
    Request* const ping = post_send(*there_.send, data);
    ASSERT_TRUE(finish(*there_.recv, ping_in).ok());
    Request* const pong = post_send(*back_.send, at_b);
    if (round % 5 == 0) std::this_thread::sleep_for(3ms);
    ASSERT_TRUE(finish(*back_.recv, pong_in).ok());
    ASSERT_TRUE(at_a == data);
    ASSERT_TRUE(finish(*there_.send, ping).ok() && finish(*back_.send, pong).ok());
  }
}

}  // namespace
}  // namespace railweave::engine_test
