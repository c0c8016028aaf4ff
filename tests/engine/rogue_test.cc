// Peers that complete the handshake and then ask for too much: their cost is bounded, and other peers are not harmed.
#include "rogue.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "joined_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

class RogueBounds : public ListeningEngine {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ListeningEngine::SetUp());
    before_ = in_use();
  }
  static std::size_t in_use() {
    malloc_trim(0);
    return resident_bytes();
  }
  std::size_t grown() const {
    const std::size_t resident = in_use();
    return resident > before_ ? resident - before_ : 0;
  }

  std::size_t before_ = 0;
};

TEST_F(RogueBounds, opens_to_unknown_listeners_reserve_nothing) {
  const LogCapture log;
  Rogue rogue(handle_);
  ASSERT_TRUE(rogue.welcome());
  std::size_t most = 0;
  bool alive = true;
  for (int i = 0; i < 40 && alive; ++i) {
    for (int k = 0; k < 1000; ++k) rogue.open_at(1'000'000);
    alive = rogue.flush();
    most = std::max(most, grown());
  }
  EXPECT_TRUE(!alive || rogue.is_closed(5s));
  EXPECT_LT(most, 64 * MiB);
  EXPECT_TRUE(eventually([&] {
    const auto warnings = log.warnings();
    return std::ranges::any_of(
        warnings, [](const auto& w) { return w.find("rogue pid 1") != w.npos && w.find("16384") != w.npos; });
  })) << log.all();
}

TEST_F(RogueBounds, streams_that_are_never_accepted_take_bounded_memory) {
  if (kTsan) GTEST_SKIP() << "tsan keeps several times the memory";
  Rogue rogue(handle_);
  ASSERT_TRUE(rogue.welcome());
  for (int i = 0; i < 900; ++i) rogue.open();
  ASSERT_TRUE(rogue.flush());
  ASSERT_TRUE(eventually([&] { return rogue.answers() == 900; }));
  std::size_t most = 0;
  bool alive = true;
  for (std::uint32_t i = 0; i < 900 && alive; ++i) {
    for (std::uint16_t slot = 0; slot < 8; ++slot) rogue.say_eager(i, slot);
    alive = rogue.flush();
    if (i % 32 == 0 || !alive) most = std::max(most, grown());
  }
  EXPECT_LT(most, (kAsan ? 400 : 300) * MiB);  // asan adds to each block
}

TEST_F(RogueBounds, eager_data_before_the_answer_closes_the_connection) {
  Rogue rogue(handle_);
  ASSERT_TRUE(rogue.welcome());
  for (std::uint32_t i = 0; i < 64; ++i) {  // flushed at once: the engine has answered no OPEN by then
    rogue.open();
    rogue.say_eager(i, 0);
  }
  (void)rogue.flush();
  EXPECT_TRUE(rogue.is_closed(5s));
}

TEST_F(RogueBounds, a_dead_session_keeps_no_slots) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  std::unique_ptr<RecvStream> held;
  {
    Rogue rogue(handle_);
    ASSERT_TRUE(rogue.welcome());
    for (int i = 0; i < 200; ++i) rogue.open();
    ASSERT_TRUE(rogue.flush());
    ASSERT_TRUE(eventually([&] { return rogue.answers() == 200; }));
    ASSERT_TRUE(eventually([&] {
      auto accepted = listener_->accept();
      if (accepted.ok()) held = std::move(*accepted);
      return bool(held);
    }));
    for (std::uint32_t i = 0; i < 200; ++i) {
      for (std::uint16_t slot = 0; slot < 7; ++slot) rogue.say_eager(i, slot);
      rogue.say(protocol::CloseFrame{.stream = i, .messages = 9});  // the last two never follow
      ASSERT_TRUE(rogue.flush());
    }
    ASSERT_TRUE(eventually([&] { return grown() > 60 * MiB; }));
  }
  EXPECT_TRUE(eventually([&] { return grown() < 40 * MiB; }, 5s)) << grown() / MiB << " MiB are kept";
}

// Many streams connect and send before any of them is accepted: every one works.
TEST_F(RogueBounds, an_honest_peer_may_connect_hundreds_of_streams) {
  constexpr int kStreams = 700;  // more than may send before they are accepted
  std::vector<std::unique_ptr<Connector>> connectors;
  for (int i = 0; i < kStreams; ++i) {
    auto connector = a_->connect(0, handle_);
    ASSERT_TRUE(connector.ok());
    connectors.push_back(std::move(*connector));
  }
  std::vector<std::unique_ptr<SendStream>> sends;
  const auto data = pattern(3000, 7);
  std::vector<Request*> requests;
  for (auto& connector : connectors) {
    std::unique_ptr<SendStream> send;
    ASSERT_TRUE(eventually([&] {
      auto polled = connector->poll();
      if (polled.ok()) send = std::move(*polled);
      return !polled.ok() || send;
    }));
    ASSERT_TRUE(send);
    requests.push_back(post_send(*send, data));
    sends.push_back(std::move(send));
  }
  std::vector<std::unique_ptr<RecvStream>> receives;
  ASSERT_TRUE(eventually([&] {
    auto accepted = listener_->accept();
    if (accepted.ok() && *accepted) receives.push_back(std::move(*accepted));
    return receives.size() == kStreams;
  }));
  std::vector<std::byte> place(3000);
  for (auto& receive : receives) {
    ASSERT_TRUE(finish(*receive, post_recv(*receive, place)).ok());
    ASSERT_TRUE(place == data);
  }
  for (std::size_t i = 0; i < sends.size(); ++i) EXPECT_TRUE(finish(*sends[i], requests[i]).ok());
}

// A connect beyond the backlog is refused with that reason; after an accept the next connect succeeds.
TEST_F(RogueBounds, a_listener_keeps_1024_streams_waiting_and_no_more) {
  constexpr std::size_t kPlaces = 1024;
  std::vector<std::unique_ptr<Connector>> connectors;
  for (std::size_t i = 0; i < kPlaces + 1; ++i) {
    auto connector = a_->connect(0, handle_);
    ASSERT_TRUE(connector.ok());
    connectors.push_back(std::move(*connector));
  }
  std::vector<std::unique_ptr<SendStream>> sends;
  std::vector<Status> refused;
  for (auto& connector : connectors) {
    ASSERT_TRUE(eventually([&] {
      auto polled = connector->poll();
      if (!polled.ok()) refused.push_back(polled.status());
      const bool ended = !polled.ok() || *polled;
      if (polled.ok() && *polled) sends.push_back(std::move(*polled));
      return ended;
    }));
  }
  EXPECT_EQ(sends.size(), kPlaces);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].scope(), Scope::stream);
  EXPECT_NE(refused[0].message().find("its backlog is full"), std::string::npos) << refused[0].message();
  ASSERT_TRUE(eventually([&] {
    auto accepted = listener_->accept();
    return accepted.ok() && *accepted;
  }));
  auto another = a_->connect(0, handle_);
  ASSERT_TRUE(another.ok());
  EXPECT_TRUE(eventually([&] {
    auto polled = (*another)->poll();
    return polled.ok() && *polled;
  }));
}

TEST_F(RogueBounds, lanes_beyond_their_places_are_closed) {
  static std::uint16_t lane;
  lane = 0;
  const auto same_peer = [](engine::Hello& hello) {
    hello.from = {7};
    hello.lane = lane++;
    if (hello.lane > 0) hello.kind = engine::Hello::Kind::join;
  };
  std::vector<std::unique_ptr<Rogue>> lanes;
  const auto open = [&] {
    const auto stats = b_->stats().sessions;
    const auto its = std::ranges::find(stats, "rogue pid 1", &SessionStats::peer);
    return its == stats.end() ? 0 : std::ranges::count(its->lanes, false, &LaneStats::closed);
  };
  for (int i = 0; i < 80; ++i) {
    lanes.push_back(std::make_unique<Rogue>(handle_, same_peer));
    ASSERT_TRUE(lanes.back()->welcome()) << i;
    ASSERT_TRUE(eventually([&] { return open() == i + 1; })) << open();
  }
  Rogue more(handle_, same_peer);
  EXPECT_TRUE(more.is_closed(5s));
  EXPECT_EQ(open(), 80);
}

// A refusal does not tell a stranger the engine's instance.
TEST_F(RogueBounds, a_refusal_does_not_name_the_instance) {
  Rogue rogue(handle_, [](engine::Hello& hello) { hello.to = {}; });
  EXPECT_EQ(rogue.answer().kind, engine::Hello::Kind::refused);
  EXPECT_EQ(rogue.answer().from, engine::InstanceId{});
}

TEST_F(RogueBounds, sessions_without_streams_end_when_there_are_many) {
  const LogCapture log;
  const int before = open_descriptors();
  std::vector<std::unique_ptr<Rogue>> crowd;
  for (int i = 0; i < 150; ++i) {
    crowd.push_back(std::make_unique<Rogue>(handle_));
    ASSERT_TRUE(crowd.back()->welcome());
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before + 150 + 64; }, 20s)) << open_descriptors() - before;
  const auto warnings = log.warnings();
  EXPECT_EQ(std::ranges::count_if(warnings, [](const auto& w) { return w.find("never opened a stream") != w.npos; }),
            1);
  EXPECT_FALSE(b_->stats().sessions.empty());
}

// A message too large for a frame is the caller's error: the post fails, and the stream goes on.
TEST_F(RogueBounds, a_message_beyond_the_protocols_bound_is_refused_at_once) {
  std::byte byte{};
  const auto request = ends_.send->post(&byte, (std::size_t{1} << 40) + 1);
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.status().code(), Code::invalid_argument);
  EXPECT_EQ(request.status().scope(), Scope::request);
  EXPECT_NE(request.status().message().find("1099511627777"), std::string::npos) << request.status().message();
}

TEST(Handshakes, a_connection_reset_meanwhile_is_a_remote_error) {
  OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof here;
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&here), length), 0);
  ASSERT_EQ(listen(listener.get(), 16), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&here), &length);
  std::thread resets([&] {
    while (OwnedFd fd{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)}) {
      const linger now{1, 0};
      setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
      char byte;
      (void)recv(fd.get(), &byte, 1, 0);
    }
  });
  Address loopback{.family = Address::Family::v4, .prefix_bits = 8};
  loopback.bytes = {127, 0, 0, 1};
  const auto engine = start_engine();
  ASSERT_TRUE(engine);
  auto connector = engine->connect(0, engine::encode_handle({{1}, 1, {{loopback, ntohs(here.sin_port)}}}));
  ASSERT_TRUE(connector.ok());
  Status failed;
  EXPECT_TRUE(eventually([&] {
    auto polled = (*connector)->poll();
    if (!polled.ok()) failed = polled.status();
    return !failed.ok();
  }));
  EXPECT_EQ(failed.code(), Code::remote) << failed.message();
  shutdown(listener.get(), SHUT_RDWR);
  resets.join();
}

}  // namespace
}  // namespace railweave::engine_test
