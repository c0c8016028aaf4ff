// Engines with a key (docs/operate/admission.md): a peer with the key connects, a peer without it is refused with the
// reason, and strangers learn nothing.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "between.h"
#include "key_file.h"
#include "keyed_caller.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;
using engine::Hello;

constexpr char kAnotherKey[] = "another key of enough bytes";

Config with_key(const KeyFile& file, bool shm = false) {
  Config config = loopback();
  config.family = AddressFamily::v4;
  config.key_file = file.path();
  config.shm = shm;
  return config;
}

Config without_key(bool shm = false) {
  Config config = loopback();
  config.family = AddressFamily::v4;
  config.shm = shm;
  return config;
}

// Dials and returns the error of the connect; ok if it succeeds, or does not end within `patience`.
Status why_not(Engine& from, const Handle& handle, Nanos patience) {
  auto connector = from.connect(0, handle);
  if (!connector.ok()) return connector.status();
  Status failed;
  eventually(
      [&] {
        auto polled = (*connector)->poll();
        if (!polled.ok()) failed = polled.status();
        return !polled.ok() || *polled;
      },
      patience);
  return failed;
}

std::size_t sessions(const Engine& engine) { return engine.stats().sessions.size(); }

// Returns the bytes that the peer sends until it closes, or within `patience`. Sets `closed` if the peer closed.
Bytes heard_until_closed(int fd, Nanos patience, bool& closed) {
  Bytes heard;
  closed = false;
  const TimePoint until = now() + patience;
  while (now() < until && !closed) {
    pollfd p{fd, POLLIN, 0};
    if (poll(&p, 1, 20) <= 0) continue;
    std::byte chunk[4096];
    const ssize_t n = recv(fd, chunk, sizeof chunk, MSG_DONTWAIT);
    if (n > 0) heard.insert(heard.end(), chunk, chunk + n);
    closed = n == 0 || (n < 0 && errno != EAGAIN);
  }
  return heard;
}

TEST(Admission, a_peer_with_the_key_connects_over_tcp_and_shared_memory) {
  const KeyFile file;
  for (const bool shm : {false, true}) {
    const auto a = start_engine(with_key(file, shm)), b = start_engine(with_key(file, shm));
    ASSERT_TRUE(a && b);
    Ends there = join(*a, *b), back = join(*b, *a);
    ASSERT_TRUE(there && back);
    for (const std::size_t size : {0u, 100u, 65537u, 3'000'000u}) {
      EXPECT_TRUE(transfer(there, size, 1)) << size;
      EXPECT_TRUE(transfer(back, size, 2)) << size;
    }
    ASSERT_EQ(sessions(*a), 1u);
    EXPECT_EQ(a->stats().sessions[0].lanes[0].rail, shm ? "shm" : "lo");
  }
}

TEST(Admission, an_instance_reaches_itself) {
  const KeyFile file;
  const auto a = start_engine(with_key(file));
  ASSERT_TRUE(a);
  Ends ends = join(*a, *a);
  ASSERT_TRUE(ends);
  EXPECT_TRUE(transfer(ends, 1'000'000, 1));
}

TEST(Admission, crossing_dials_make_one_session) {
  const KeyFile file;
  const auto a = start_engine(with_key(file)), b = start_engine(with_key(file));
  ASSERT_TRUE(a && b);
  Handle at_a, at_b;
  auto listens_a = a->listen(0, at_a), listens_b = b->listen(0, at_b);
  ASSERT_TRUE(listens_a.ok() && listens_b.ok());
  auto to_b = a->connect(0, at_b), to_a = b->connect(0, at_a);
  ASSERT_TRUE(to_b.ok() && to_a.ok());
  Ends there = meet(**to_b, **listens_b), back = meet(**to_a, **listens_a);
  ASSERT_TRUE(there && back);
  EXPECT_TRUE(transfer(there, 100'000, 1));
  EXPECT_TRUE(transfer(back, 100'000, 2));
  EXPECT_EQ(sessions(*a), 1u);
}

// All four lanes come up with the key, and no log line contains the key's text.
TEST(Admission, lanes_join_and_no_log_line_shows_the_key) {
  const KeyFile file;
  LogCapture log;
  Config config = with_key(file);
  config.lanes_per_rail = 4;
  const auto a = start_engine(config), b = start_engine(config);
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  EXPECT_TRUE(eventually([&] { return a->stats().sessions[0].lanes.size() == 4; }));
  EXPECT_TRUE(transfer(ends, 1'000'000, 1));
  EXPECT_EQ(log.all().find("some key"), std::string::npos);
  EXPECT_TRUE(log.warnings().empty()) << log.all();
}

// Asserts that both ends report a refusal at once, without a second round of dials and without waiting for the connect
// timeout. The acceptor warns once, though two connects fail.
void refused_at_both_ends(const Config& dialler, const Config& acceptor, const std::string& at_dialler,
                          const std::string& at_acceptor) {
  LogCapture log;
  const auto a = start_engine(dialler), b = start_engine(acceptor);
  ASSERT_TRUE(a && b);
  Handle handle;
  auto listener = b->listen(0, handle);
  ASSERT_TRUE(listener.ok());
  const TimePoint begin = now();
  const Status failed = why_not(*a, handle, deadline(5s));
  EXPECT_LT(now() - begin, sooner_than_waiting(2s));
  EXPECT_EQ(failed.code(), Code::remote) << failed.message();
  EXPECT_NE(failed.message().find(at_dialler), std::string::npos) << failed.message();
  EXPECT_TRUE(eventually([&] { return !log.warnings().empty(); }, deadline(2s)));
  EXPECT_FALSE(why_not(*a, handle, deadline(5s)).ok());
  const auto warnings = log.warnings();
  ASSERT_EQ(warnings.size(), 1u) << "more often would be noise:\n" << log.all();
  EXPECT_NE(warnings[0].find(at_acceptor), std::string::npos) << warnings[0];
  EXPECT_EQ(sessions(*a) + sessions(*b), 0u);
}

constexpr char kWeHaveNone[] = "the peer uses a key (RAILWEAVE_KEY_FILE), we have none";
constexpr char kPeerHasNone[] = "the peer has no key, we use one (RAILWEAVE_KEY_FILE)";
constexpr char kAnother[] = "the peer has another key than ours (RAILWEAVE_KEY_FILE)";

TEST(Admission, another_key_is_reported_at_both_ends_at_once) {
  const KeyFile file, another(kAnotherKey);
  for (const bool shm : {false, true})
    refused_at_both_ends(with_key(file, shm), with_key(another, shm), kAnother, kAnother);
}

TEST(Admission, a_key_at_the_dialler_alone_is_reported_at_both_ends_at_once) {
  const KeyFile file;
  for (const bool shm : {false, true})
    refused_at_both_ends(with_key(file, shm), without_key(shm), kPeerHasNone, kWeHaveNone);
}

TEST(Admission, a_key_at_the_acceptor_alone_is_reported_at_both_ends_at_once) {
  const KeyFile file;
  for (const bool shm : {false, true})
    refused_at_both_ends(without_key(shm), with_key(file, shm), kWeHaveNone, kPeerHasNone);
}

TEST(Admission, an_unfit_key_file_starts_no_engine) {
  const KeyFile open_to_all(kSomeKey, 0644);
  const auto engine = Engine::start(with_key(open_to_all));
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().code(), Code::invalid_config);
  EXPECT_EQ(engine.status().message(), "RAILWEAVE_KEY_FILE=" + open_to_all.path() +
                                           ": mode 0644, expected nothing for group and others (chmod 600)");
}

// Two connected engines, and a Between that has recorded everything that the dialler sent.
class RecordedHandshake : public testing::Test {
 protected:
  void SetUp() override {
    a_ = start_engine(with_key(file_));
    b_ = start_engine(with_key(file_));
    ASSERT_TRUE(a_ && b_);
    auto listener = b_->listen(0, handle_);
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(*listener);
    between_ = std::make_unique<Between>(handle_);
    auto connector = a_->connect(0, between_->handle());
    ASSERT_TRUE(connector.ok());
    ends_ = meet(**connector, *listener_);
    ASSERT_TRUE(ends_);
    ASSERT_TRUE(transfer(ends_, 100'000, 1));
    ASSERT_EQ(sessions(*b_), 1u);
    recorded_ = between_->said_by_dialler();
    ASSERT_GT(recorded_.size(), kHelloAt + engine::kHelloFixedBytes);
    const auto head =
        std::span<const std::byte, engine::kHelloFixedBytes>(recorded_.data() + kHelloAt, engine::kHelloFixedBytes);
    const auto bytes = engine::hello_bytes(head);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    said_ = engine::decode_hello(std::span(recorded_).subspan(kHelloAt, bytes.value())).value();
  }

  void all_is_well(int messages = 10) {
    for (unsigned seed = 0; seed < unsigned(messages); ++seed) ASSERT_TRUE(transfer(ends_, 100'000, seed));
    EXPECT_EQ(sessions(*b_), 1u);
  }

  static constexpr std::size_t kHelloAt = 2 * engine::kChallengeBytes;  // behind a challenge and a proof

  const KeyFile file_;
  const engine::SharedKey key_ = engine::SharedKey::read(file_.path()).value();
  std::shared_ptr<Engine> a_, b_;
  std::unique_ptr<Listener> listener_;
  Handle handle_{};
  std::unique_ptr<Between> between_;
  Ends ends_;
  Bytes recorded_;
  Hello said_;
};

TEST_F(RecordedHandshake, a_replay_is_refused) {
  OwnedFd fd = probe_at(engine::decode_handle(handle_).value());
  ASSERT_TRUE(fd);
  ASSERT_EQ(send(fd.get(), recorded_.data(), recorded_.size(), MSG_NOSIGNAL), ssize_t(recorded_.size()));
  bool closed = false;
  const Bytes heard = heard_until_closed(fd.get(), deadline(8s), closed);
  EXPECT_TRUE(closed);
  EXPECT_LE(heard.size(), 2 * engine::kChallengeBytes) << "a response and a refusal at most";
  all_is_well();
}

TEST_F(RecordedHandshake, connections_that_send_noise_are_closed_unanswered) {
  std::vector<OwnedFd> fds;
  for (unsigned i = 0; i < 50; ++i) {
    fds.push_back(probe_at(engine::decode_handle(handle_).value()));
    ASSERT_TRUE(fds.back());
    const auto noise = pattern(80 + i * 37, i);
    (void)send(fds.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL);
  }
  all_is_well();
  for (const OwnedFd& fd : fds) {
    bool closed = false;
    EXPECT_TRUE(heard_until_closed(fd.get(), deadline(8s), closed).empty());
    EXPECT_TRUE(closed);
  }
}

// A caller that falls silent after its challenge is closed, too.
TEST_F(RecordedHandshake, a_caller_silent_after_its_challenge_is_closed) {
  OwnedFd fd = probe_at(engine::decode_handle(handle_).value());
  ASSERT_TRUE(fd);
  ASSERT_EQ(send(fd.get(), recorded_.data(), engine::kChallengeBytes, MSG_NOSIGNAL), ssize_t(engine::kChallengeBytes));
  bool closed = false;
  EXPECT_EQ(heard_until_closed(fd.get(), deadline(8s), closed).size(), engine::kChallengeBytes);
  EXPECT_TRUE(closed);
  all_is_well();
}

// The caller knows the key, the session's serial and both instances, but not the session's secret.
TEST_F(RecordedHandshake, a_caller_without_the_session_secret_joins_no_lane) {
  Hello join = said_;
  join.kind = Hello::Kind::join;
  join.lane = 7;
  join.rails.clear();
  const engine::Secret wrong = engine::ConnectionKey(key_.secret()).session_secret().value();
  for (const engine::Secret* session : {static_cast<const engine::Secret*>(nullptr), &wrong}) {
    const KeyedCaller caller(handle_, key_, join, session);
    EXPECT_TRUE(caller.admitted());
    EXPECT_EQ(caller.answer().kind, Hello::Kind::refused);
    EXPECT_EQ(caller.answer().reason, "the dialler does not know the session's secret");
  }
  EXPECT_EQ(b_->stats().sessions[0].lanes.size(), 1u);
  all_is_well();
}

TEST_F(RecordedHandshake, a_caller_with_the_key_may_begin_its_own_session) {
  Hello first = said_;
  first.from[0] ^= 1;
  first.session ^= 1;
  const KeyedCaller caller(handle_, key_, first);
  EXPECT_TRUE(caller.admitted());
  EXPECT_EQ(caller.answer().kind, Hello::Kind::welcome) << caller.answer().reason;
}

// One byte altered in any part of the handshake, in either direction, makes the connect fail.
TEST(Admission, a_handshake_altered_on_its_way_is_refused) {
  const KeyFile file;
  const auto b = start_engine(with_key(file));
  ASSERT_TRUE(b);
  Handle handle;
  auto listener = b->listen(0, handle);
  ASSERT_TRUE(listener.ok());
  struct Place {
    bool from_dialler;
    std::size_t at;
  };
  for (const Place place : {Place{true, 40}, Place{true, 140}, Place{true, 160 + 56}, Place{true, 160 + 90},
                            Place{false, 30}, Place{false, 70}, Place{false, 80 + 67}, Place{false, 80 + 100}}) {
    SCOPED_TRACE(std::to_string(place.at) + (place.from_dialler ? " of the dialler" : " of the acceptor"));
    const Between between(handle, [place](bool from_dialler, std::size_t at, std::span<std::byte> bytes) {
      if (from_dialler == place.from_dialler && place.at >= at && place.at < at + bytes.size())
        bytes[place.at - at] ^= std::byte{1};
    });
    Config config = with_key(file);
    config.connect_timeout = deadline(3s);
    const auto a = start_engine(config);
    ASSERT_TRUE(a);
    EXPECT_EQ(why_not(*a, between.handle(), deadline(8s)).code(), Code::remote);
    EXPECT_EQ(sessions(*a), 0u);
  }
}

}  // namespace
}  // namespace railweave::engine_test
