// The confirm, the third message of a handshake: without it there is no lane and no session. The dialler waits for no
// answer to it.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/clock.h"
#include "base/fd.h"
#include "base/random.h"
#include "engine/connect/handle.h"
#include "engine/connect/hello.h"
#include "joined_engines.h"
#include "protocol/frame.h"
#include "rogue.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;
using engine::Hello;

void as_it_is(Hello&) {}

class Unconfirmed : public ListeningEngine {
 protected:
  std::size_t sessions() const { return b_->stats().sessions.size(); }
  bool logged(const LogCapture& log, const std::string& text) const {
    return eventually([&] { return log.all().find(text) != std::string::npos; });
  }
};

TEST_F(Unconfirmed, a_dialler_that_never_confirms_has_no_session_and_is_closed) {
  const LogCapture log;
  Rogue rogue(handle_, as_it_is, as_it_is, 0);
  ASSERT_TRUE(rogue.welcome());
  EXPECT_EQ(sessions(), 1u);
  EXPECT_TRUE(rogue.is_closed(deadline(8s)));
  EXPECT_EQ(sessions(), 1u);
  EXPECT_TRUE(logged(log, "lane 0 of rogue pid 1 is not confirmed: connection from 127.0.0.1:")) << log.all();
}

TEST_F(Unconfirmed, a_confirm_of_another_lane_is_refused) {
  for (const Rogue::Spoil spoil :
       {+[](Hello& h) { h.lane = 7; }, +[](Hello& h) { h.session = 78; }, +[](Hello& h) { h.from = {}; },
        +[](Hello& h) {
          h.kind = Hello::Kind::join;
          h.padding_bytes = 0;
        }}) {
    const LogCapture log;
    Rogue rogue(handle_, as_it_is, spoil, 1);
    ASSERT_TRUE(rogue.welcome());
    EXPECT_TRUE(rogue.is_closed(deadline(3s))) << "at once, not when its time is over";
    EXPECT_TRUE(logged(log, "expected a confirm") || logged(log, "a confirm of another lane")) << log.all();
    EXPECT_EQ(sessions(), 1u);
  }
}

TEST_F(Unconfirmed, a_second_confirm_closes_the_connection) {
  Rogue rogue(handle_, as_it_is, as_it_is, 2);
  ASSERT_TRUE(rogue.welcome());
  EXPECT_TRUE(rogue.is_closed(deadline(5s)));
  EXPECT_TRUE(eventually([&] { return sessions() == 1; }));
}

TEST_F(Unconfirmed, a_rail_that_was_not_announced_is_refused_by_number) {
  Rogue rogue(handle_, [](Hello& h) { h.local_rail = 5; });
  EXPECT_FALSE(rogue.welcome());
  EXPECT_EQ(rogue.answer().reason, "the dialler's rail 5 is not among the 1 that it announces");
}

TEST_F(Unconfirmed, an_old_version_is_named) {
  const LogCapture log;
  Rogue rogue(handle_, [](Hello& h) { h.version = 1; });
  EXPECT_FALSE(rogue.welcome());
  EXPECT_TRUE(logged(log, "version 1, expected 3: the peer runs another release of Railweave")) << log.all();
  EXPECT_TRUE(logged(log, "connection from 127.0.0.1:")) << log.all();
}

// An acceptor that answers a Hello with a welcome, and sends nothing after it.
class Silent {
 public:
  Silent() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    const timeval patience{20, 0};
    EXPECT_EQ(setsockopt(listener_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&any), &size), 0);
    engine::PeerAddress address;
    address.address.bytes = {127, 0, 0, 1};
    address.port = ntohs(any.sin_port);
    self_ = {random_id(), 1, {address}};
  }
  Handle handle() const { return engine::encode_handle(self_); }
  // Accepts a connection and sends a welcome for its Hello. Returns false if either fails.
  bool welcome_one() {
    fd_.reset(accept(listener_.get(), nullptr, nullptr));
    Hello first;
    if (!fd_ || !receive(first)) return false;
    Hello welcome = first;
    welcome.kind = Hello::Kind::welcome;
    welcome.from = self_.instance;
    welcome.to = first.from;
    welcome.rails = {{"lo", 10'000, self_.addresses, false}};
    welcome.remote_rail = 0;
    const auto bytes = engine::encode_hello(welcome);
    return send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size());
  }
  // Receives the Hello of the next connection and closes that connection.
  bool receive_and_close(Hello& hello) {
    OwnedFd lane = std::move(fd_);
    fd_.reset(accept(listener_.get(), nullptr, nullptr));
    const bool heard = fd_ && receive(hello);
    fd_ = std::move(lane);
    return heard;
  }
  bool receive(Hello& hello) {
    std::vector<std::byte> message(engine::kHelloFixedBytes);
    if (!read_whole(message)) return false;
    const auto all =
        engine::hello_bytes(std::span<const std::byte, engine::kHelloFixedBytes>(message.data(), message.size()));
    if (!all.ok()) return false;
    message.resize(all.value());
    if (!read_whole(std::span(message).subspan(engine::kHelloFixedBytes))) return false;
    auto heard = engine::decode_hello(message);
    if (heard.ok()) hello = std::move(*heard);
    return heard.ok();
  }
  bool read_whole(std::span<std::byte> bytes) {
    return recv(fd_.get(), bytes.data(), bytes.size(), MSG_WAITALL) == ssize_t(bytes.size());
  }

 private:
  OwnedFd listener_, fd_;
  engine::HandleContent self_;
};

// The dialler sends OPEN right behind the confirm, so that the confirm costs no round trip.
TEST(Confirm, the_diallers_first_frame_follows_without_an_answer) {
  const auto engine = start_engine();
  ASSERT_TRUE(engine);
  Silent acceptor;
  auto connector = engine->connect(0, acceptor.handle());
  ASSERT_TRUE(connector.ok());
  ASSERT_TRUE(acceptor.welcome_one());
  Hello confirm;
  ASSERT_TRUE(acceptor.receive(confirm));
  EXPECT_EQ(confirm.kind, Hello::Kind::confirm);
  std::array<std::byte, protocol::kFrameHeaderBytes> header;
  ASSERT_TRUE(acceptor.read_whole(header)) << "it waits for an answer";
  const auto frame = protocol::decode(protocol::ConstHeaderBytes(header));
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame.value().type, protocol::FrameType::open);
}

// A rail that passes only small packets confirms no lane: without reuse its dials would use up all lane numbers.
TEST(Confirm, the_number_of_an_unconfirmed_lane_is_used_again) {
  Config config = loopback();
  config.lanes_per_rail = 2;
  const auto engine = start_engine(config);
  ASSERT_TRUE(engine);
  Silent acceptor;
  auto connector = engine->connect(0, acceptor.handle());
  ASSERT_TRUE(connector.ok());
  ASSERT_TRUE(acceptor.welcome_one());
  for (int i = 0; i < 3; ++i) {
    Hello join;
    ASSERT_TRUE(acceptor.receive_and_close(join)) << i;
    EXPECT_EQ(join.kind, Hello::Kind::join);
    EXPECT_EQ(join.lane, 1) << i;
  }
}

}  // namespace
}  // namespace railweave::engine_test
