// SessionDirectory with sessions on fake lanes. The test plays the peer of each dial.
#include "engine/connect/session_directory.h"

#include <optional>

#include "tests/unit/engine/loopback_identity.h"
#include "tests/unit/engine/on_reactor.h"
#include "tests/unit/engine/session_fixture.h"
#include "tests/unit/engine/talker.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr InstanceId kSelf{5}, kLesser{4}, kGreater{6};
using Half = PeerKey::Half;

class SessionDirectoryTest : public SessionTest {
 protected:
  SessionDirectoryTest() { EXPECT_TRUE(reactor_.start().ok()); }
  ~SessionDirectoryTest() override {
    reactor_.stop();
    directory_.stop_dialling();
    directory_.fail_all();
    for (const auto& session : made_) session->fail(ended_);
  }

  std::shared_ptr<Session> make_session(std::uint64_t serial) {
    made_.push_back(std::make_shared<Session>(config_, *this, "paper", serial));
    return made_.back();
  }
  static PeerKey key(const InstanceId& peer, int traffic_class = 0) { return {peer, traffic_class}; }
  // Returns a pending stream to listener 7 of `peer`, which is dialled at porch_.
  std::shared_ptr<PendingStream> stream(const InstanceId& peer, int traffic_class = 0, Nanos patience = 20s) {
    return std::make_shared<PendingStream>(HandleContent{peer, 7, {porch_.address()}}, traffic_class, 1,
                                           Priority::normal, now() + patience);
  }
  std::shared_ptr<PendingStream> opened(const InstanceId& peer, int traffic_class = 0) {
    auto pending = stream(peer, traffic_class);
    directory_.open(pending);
    return pending;
  }
  void put(const PeerKey& at, const std::shared_ptr<Session>& session) {
    on_reactor(reactor_, [&] { directory_.put(at, session); });
  }
  // Waits until the reactor has run everything queued so far. Returns whether nobody was dialled.
  bool nobody_is_dialled() {
    on_reactor(reactor_, [] {});
    return porch_.is_deserted();
  }
  Hello welcome(const Hello& first) const {
    Hello answer;
    answer.kind = Hello::Kind::welcome;
    answer.from = first.to;
    answer.to = first.from;
    answer.session = first.session;
    answer.peer = "there pid 2";
    answer.rails = {{"lo", 0, {porch_.address()}, false}};
    return answer;
  }
  static Hello refused(const Hello& first, Hello::Refusal refusal) {
    Hello answer;
    answer.kind = Hello::Kind::refused;
    answer.refusal = refusal;
    answer.from = first.to;
    answer.to = first.from;
    answer.session = first.session;
    answer.peer = "there pid 2";
    return answer;
  }
  // Returns the error; "ok" while nothing is decided.
  static std::string why_failed(PendingStream& pending) { return std::string(pending.take().status().message()); }
  bool fails(const std::shared_ptr<PendingStream>& pending) {
    return eventually_on(reactor_, [&] { return !pending->take().ok(); });
  }
  bool is_served_in(const std::shared_ptr<PendingStream>& pending, const std::shared_ptr<Session>& session) {
    return eventually_on(reactor_, [&] { return pending->session() == session; });
  }

  struct Welcomed {
    PeerKey key;
    std::uint64_t serial;
    RailPair rails;
    SessionDirectory::Waiters waiters;
  };
  const Status ended_{Code::cancelled, Scope::engine, "the engine ended"};
  LoopbackIdentity here_{config_, kSelf};
  Porch porch_;
  Reactor reactor_;
  // These two belong to the reactor's thread.
  std::vector<Welcomed> welcomed_;
  std::function<void()> when_welcomed_ = [] {};
  SessionDirectory directory_{
      reactor_, here_.self, ended_,
      [this](const PeerKey& at, const Hello&, std::uint64_t serial, NewLane lane, SessionDirectory::Waiters waiters) {
        welcomed_.push_back({at, serial, lane.rails, std::move(waiters)});
        when_welcomed_();
      }};
  std::vector<std::shared_ptr<Session>> made_;
};

TEST(PeerKeys, an_instance_that_dials_itself_has_two_halves_of_a_session) {
  Identity self;
  self.instance = kSelf;
  Hello hello;
  hello.traffic_class = 3;
  EXPECT_EQ(key_for_dial(self, kGreater, 3), (PeerKey{kGreater, 3, Half::whole}));
  EXPECT_EQ(key_for_dial(self, kSelf, 3), (PeerKey{kSelf, 3, Half::dialler}));
  hello.from = kGreater;
  EXPECT_EQ(key_of_dialler(self, hello), (PeerKey{kGreater, 3, Half::whole})) << "the session that we would dial";
  hello.from = kSelf;
  EXPECT_EQ(key_of_dialler(self, hello), (PeerKey{kSelf, 3, Half::acceptor}));
}

// ----------------------------------------------------------------------------------------------------------- the table

TEST_F(SessionDirectoryTest, find__a_session_until_it_is_over) {
  EXPECT_EQ(directory_.find(key(kLesser)), nullptr);
  put(key(kLesser), session_);
  EXPECT_EQ(directory_.find(key(kLesser)), session_);
  EXPECT_EQ(directory_.find(key(kGreater)), nullptr);
  EXPECT_EQ(directory_.find(key(kLesser, 1)), nullptr);
  EXPECT_EQ(directory_.find({kLesser, 0, Half::acceptor}), nullptr);
  session_->fail(ended_);
  EXPECT_EQ(directory_.find(key(kLesser)), nullptr);
  EXPECT_EQ(directory_.sessions().size(), 1u) << "its lanes are to be closed yet";
}

TEST_F(SessionDirectoryTest, put__returns_the_replaced_session_and_remove_spares_the_new) {
  const auto successor = make_session(2);
  EXPECT_EQ(directory_.put(key(kLesser), session_), nullptr);
  EXPECT_EQ(directory_.put(key(kLesser), successor), session_);
  directory_.remove(session_);
  EXPECT_EQ(directory_.find(key(kLesser)), successor);
  directory_.remove(successor);
  EXPECT_EQ(directory_.find(key(kLesser)), nullptr);
  EXPECT_TRUE(directory_.sessions().empty());
}

TEST_F(SessionDirectoryTest, next__walks_in_the_order_of_keys_while_sessions_change) {
  const auto second = make_session(2), third = make_session(3), late = make_session(4);
  directory_.put(key(kGreater), third);
  directory_.put(key(kLesser, 1), second);
  directory_.put(key(kLesser), session_);
  std::optional<PeerKey> after;
  EXPECT_EQ(directory_.next(after), session_);
  directory_.remove(session_);
  directory_.put(key(kLesser), late);
  EXPECT_EQ(directory_.next(after), second) << "a key behind the walk is not gone back to";
  EXPECT_EQ(directory_.next(after), third);
  EXPECT_EQ(directory_.next(after), nullptr);
  EXPECT_EQ(directory_.next(after), nullptr);
}

TEST_F(SessionDirectoryTest, fail_all__every_session_fails_and_none_is_left) {
  const auto other = make_session(2);
  directory_.put(key(kLesser), session_);
  directory_.put(key(kGreater), other);
  const auto pending = opened(kGreater);
  directory_.fail_all();
  EXPECT_TRUE(session_->over() && other->over());
  EXPECT_EQ(why_failed(*pending), "the engine ended");
  EXPECT_TRUE(directory_.sessions().empty());
}

// ----------------------------------------------------------------------------------------------------- opening streams

TEST_F(SessionDirectoryTest, open__streams_to_one_peer_share_a_dial_and_keep_their_order) {
  const auto first = opened(kLesser), second = opened(kLesser);
  Talker peer = porch_.answer();
  const auto hello = peer.receive();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->kind, Hello::Kind::first);
  EXPECT_EQ(hello->to, kLesser);
  const auto third = opened(kLesser);
  peer.say(welcome(*hello));
  const auto confirm = peer.receive();
  ASSERT_TRUE(confirm);
  EXPECT_EQ(confirm->kind, Hello::Kind::confirm);
  ASSERT_TRUE(eventually_on(reactor_, [this] { return !welcomed_.empty(); }));
  EXPECT_TRUE(nobody_is_dialled());
  ASSERT_EQ(welcomed_.size(), 1u);
  EXPECT_EQ(welcomed_[0].key, key(kLesser));
  EXPECT_EQ(welcomed_[0].serial, hello->session) << "the serial names the session in handshakes";
  EXPECT_EQ(welcomed_[0].rails, (RailPair{0, 0}));
  EXPECT_EQ(welcomed_[0].waiters, (SessionDirectory::Waiters{first, second, third}));
}

TEST_F(SessionDirectoryTest, open__each_traffic_class_has_a_dial) {
  const auto plain = opened(kLesser, 0), marked = opened(kLesser, 8);
  Talker a = porch_.answer(), b = porch_.answer();
  const auto one = a.receive(), other = b.receive();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->traffic_class + other->traffic_class, 8);
  EXPECT_NE(one->session, other->session);
}

TEST_F(SessionDirectoryTest, open__in_the_session_that_is_there_without_a_dial) {
  put(key(kLesser), session_);
  const auto pending = opened(kLesser);
  EXPECT_EQ(pending->session(), session_);
  EXPECT_TRUE(nobody_is_dialled());
}

TEST_F(SessionDirectoryTest, open__a_session_that_is_over_is_dialled_anew) {
  put(key(kLesser), session_);
  session_->fail(ended_);
  const auto pending = opened(kLesser);
  EXPECT_TRUE(porch_.answer().receive());
  EXPECT_EQ(pending->session(), nullptr);
}

TEST_F(SessionDirectoryTest, open__waiters_fail_with_their_dial_and_the_next_one_dials) {
  const auto first = opened(kLesser), second = opened(kLesser);
  Talker peer = porch_.answer();
  const auto hello = peer.receive();
  ASSERT_TRUE(hello);
  peer.say(refused(*hello, Hello::Refusal::encryption));
  ASSERT_TRUE(fails(first) && fails(second));
  EXPECT_NE(why_failed(*first).find("refused by there pid 2"), std::string::npos) << why_failed(*first);
  EXPECT_EQ(why_failed(*first), why_failed(*second));
  const auto again = opened(kLesser);
  const auto anew = porch_.answer().receive();
  ASSERT_TRUE(anew);
  EXPECT_NE(anew->session, hello->session);
  EXPECT_TRUE(welcomed_.empty());
}

// The stream comes between the welcome and the end of the dial, when the table does not have the session yet.
TEST_F(SessionDirectoryTest, open__a_stream_that_comes_while_a_session_begins_is_served) {
  std::shared_ptr<PendingStream> late;
  when_welcomed_ = [&] {
    late = opened(kLesser);
    directory_.put(key(kLesser), session_);
  };
  const auto first = opened(kLesser);
  Talker peer = porch_.answer();
  const auto hello = peer.receive();
  ASSERT_TRUE(hello);
  peer.say(welcome(*hello));
  ASSERT_TRUE(eventually_on(reactor_, [&] { return late && late->session(); }));
  EXPECT_EQ(late->session(), session_);
  EXPECT_TRUE(nobody_is_dialled());
}

TEST_F(SessionDirectoryTest, open__a_stream_that_meets_a_failing_session_has_its_own_dial) {
  std::shared_ptr<PendingStream> late;
  when_welcomed_ = [&] {
    if (late) return;
    late = opened(kLesser);
    directory_.put(key(kLesser), session_);
    session_->fail(ended_);
  };
  const auto first = opened(kLesser);
  Talker peer = porch_.answer();
  const auto hello = peer.receive();
  ASSERT_TRUE(hello);
  peer.say(welcome(*hello));
  Talker again = porch_.answer();
  const auto anew = again.receive();
  ASSERT_TRUE(anew);
  EXPECT_NE(anew->session, hello->session);
  again.say(welcome(*anew));
  ASSERT_TRUE(eventually_on(reactor_, [this] { return welcomed_.size() == 2; }));
  EXPECT_EQ(welcomed_[1].waiters, SessionDirectory::Waiters{late});
}

// ------------------------------------------------------------------------------------------------------- opening again

TEST_F(SessionDirectoryTest, open_again__a_little_later_in_the_session_that_is_there_then) {
  const auto pending = stream(kLesser);
  const TimePoint asked = now();
  directory_.open_again(pending, Status(Code::remote, Scope::session, "gone"));
  put(key(kLesser), session_);
  EXPECT_TRUE(is_served_in(pending, session_));
  EXPECT_GE(now() - asked, 100ms) << "what ended the session may last";
}

TEST_F(SessionDirectoryTest, open_again__without_time_left_the_stream_fails) {
  put(key(kLesser), session_);
  const auto pending = stream(kLesser, 0, 90ms);
  directory_.open_again(pending, Status(Code::remote, Scope::session, "gone"));
  on_reactor(reactor_, [] {});
  EXPECT_EQ(why_failed(*pending), "gone");
  EXPECT_FALSE(session_->used());
}

TEST_F(SessionDirectoryTest, open_again__a_stream_that_was_given_up_is_left_alone) {
  put(key(kLesser), session_);
  const auto gone = stream(kLesser), patient = stream(kLesser);
  for (const auto& pending : {gone, patient})
    directory_.open_again(pending, Status(Code::remote, Scope::session, "gone"));
  on_reactor(reactor_, [&] { gone->give_up(); });
  ASSERT_TRUE(is_served_in(patient, session_));
  EXPECT_EQ(gone->session(), nullptr) << "its turn was before the other's";
}

// --------------------------------------------------------------------------------------------------- dials that cross

TEST_F(SessionDirectoryTest, our_dial_stays__against_a_lesser_instance_while_young) {
  const auto stays = [this](const PeerKey& at) { return directory_.our_dial_stays(at); };
  EXPECT_FALSE(stays(key(kLesser))) << "nothing crosses where nobody dials";
  const TimePoint before = now();
  const auto to_lesser = opened(kLesser), to_greater = opened(kGreater);
  const bool at_first = stays(key(kLesser));
  EXPECT_TRUE(at_first || now() - before >= 1s) << "a machine that stood for a second";
  EXPECT_FALSE(stays(key(kGreater)));
  EXPECT_FALSE(stays(key(kLesser, 1)));
  ASSERT_TRUE(eventually_on(reactor_, [&] { return !stays(key(kLesser)); })) << "an old dial leads nowhere";
  EXPECT_GE(now() - before, 1s);
}

TEST_F(SessionDirectoryTest, yield_other_dial__another_dial_ends_in_favour_of_the_session) {
  const auto pending = opened(kLesser);
  Talker peer = porch_.answer();
  const auto hello = peer.receive();
  ASSERT_TRUE(hello);
  put(key(kLesser), session_);
  on_reactor(reactor_, [&] { directory_.yield_other_dial(key(kLesser), hello->session); });
  on_reactor(reactor_, [&] { directory_.yield_other_dial(key(kGreater), 1); });
  EXPECT_EQ(pending->session(), nullptr);
  on_reactor(reactor_, [&] { directory_.yield_other_dial(key(kLesser), hello->session + 1); });
  EXPECT_EQ(pending->session(), session_);
  EXPECT_TRUE(peer.hears_the_end());
  EXPECT_TRUE(nobody_is_dialled());
}

TEST_F(SessionDirectoryTest, yield_other_dial__waiters_of_a_failed_session_are_redialled) {
  const auto pending = opened(kLesser);
  Talker peer = porch_.answer();
  const auto hello = peer.receive();
  ASSERT_TRUE(hello);
  on_reactor(reactor_, [&] { directory_.yield_other_dial(key(kLesser), hello->session + 1); });
  const auto anew = porch_.answer().receive();
  ASSERT_TRUE(anew);
  EXPECT_NE(anew->session, hello->session);
  EXPECT_TRUE(pending->take().ok());
}

// ------------------------------------------------------------------------------------------------------------- the end

TEST_F(SessionDirectoryTest, stop_dialling__what_waits_fails_and_its_connections_close) {
  const auto dialling = opened(kLesser), again = stream(kGreater);
  Talker peer = porch_.answer();
  ASSERT_TRUE(peer.receive());
  directory_.open_again(again, Status(Code::remote, Scope::session, "gone"));
  on_reactor(reactor_, [this] { directory_.stop_dialling(); });
  EXPECT_EQ(why_failed(*dialling), "the engine ended");
  EXPECT_TRUE(peer.hears_the_end());
  EXPECT_TRUE(fails(again));
  EXPECT_EQ(why_failed(*again), "the engine ended");
  const auto late = stream(kLesser);
  directory_.open_again(late, Status(Code::remote, Scope::session, "gone"));
  EXPECT_TRUE(fails(late));
  EXPECT_EQ(why_failed(*late), "the engine ended");
  EXPECT_TRUE(nobody_is_dialled());
}

TEST_F(SessionDirectoryTest, stop_dialling__a_dial_that_was_to_begin_never_does) {
  std::shared_ptr<PendingStream> pending;
  on_reactor(reactor_, [&] {
    pending = opened(kLesser);  // the dial begins after this function
    directory_.stop_dialling();
  });
  EXPECT_EQ(why_failed(*pending), "the engine ended");
  EXPECT_TRUE(nobody_is_dialled());
}

}  // namespace
}  // namespace railweave::engine
