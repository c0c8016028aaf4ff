// RailDialler on loopback; the test plays the peer.
#include "engine/connect/rail_dialler.h"

#include <optional>

#include "tests/unit/engine/loopback_identity.h"
#include "tests/unit/engine/on_reactor.h"
#include "tests/unit/engine/session_fixture.h"
#include "tests/unit/engine/talker.h"

namespace railweave::engine {
namespace {

using Answer = JoinAnswer::Kind;
using Refusal = Hello::Refusal;

constexpr InstanceId kOwn{5}, kPeer{6}, kOther{7};

class RailDiallerTest : public SessionTest {
 protected:
  RailDiallerTest() { EXPECT_TRUE(reactor_.start().ok()); }
  ~RailDiallerTest() override {
    on_reactor(reactor_, [this] { join_.reset(); });
    reactor_.stop();
  }

  void dial(bool is_peer_probe = false) { dial_at(porch_.address(), is_peer_probe); }
  void dial_at(const PeerAddress& target, bool is_peer_probe = false) {
    const JoinOrder order{.lane = 3,
                          .rails = {0, 1},
                          .route = {here_.rails[0].addresses[0], target, true},
                          .time = std::chrono::seconds(20),
                          .is_peer_probe = is_peer_probe};
    on_reactor(reactor_, [&] {
      auto join = dialler_.join(order, [this](const JoinAnswer& answer) { answer_ = answer; });
      ASSERT_TRUE(join.ok()) << join.status().message();
      EXPECT_FALSE(answer_) << "from within join()";
      join_ = std::move(*join);
    });
  }
  JoinAnswer answer() {
    EXPECT_TRUE(eventually_on(reactor_, [this] { return answer_.has_value(); }));
    return answer_.value_or(JoinAnswer());
  }
  static Hello reply_to(const Hello& hello, Hello::Kind kind) {
    Hello reply;
    reply.kind = kind;
    reply.from = kPeer;
    reply.to = hello.from;
    reply.session = hello.session;
    reply.lane = hello.lane;
    reply.local_rail = hello.local_rail;
    reply.peer = "there pid 2";
    return reply;
  }
  Talker& heard(Hello& hello) {
    peer_.emplace(porch_.answer());
    hello = peer_->receive().value_or(Hello());
    return *peer_;
  }
  // Dials, refuses the join with `refusal`, and returns the dialler's answer.
  JoinAnswer answer_to_refusal(Refusal refusal) {
    answer_.reset();
    dial();
    Hello hello;
    Talker& peer = heard(hello);
    Hello reply = reply_to(hello, Hello::Kind::refused);
    reply.refusal = refusal;
    reply.reason = "for a reason";
    peer.say(reply);
    return answer();
  }

  LoopbackIdentity here_{config_, kOwn};
  Reactor reactor_;
  Porch porch_;
  std::optional<Talker> peer_;
  std::vector<NewLane> joined_;  // belongs to the reactor's thread, like the fields below
  std::optional<JoinAnswer> answer_;
  RailDialler dialler_{reactor_, here_.self, kPeer, 0, *session_, [this](Session& session, NewLane lane) {
                         EXPECT_EQ(&session, session_.get());
                         joined_.push_back(std::move(lane));
                       }};
  std::unique_ptr<Join> join_;
};

TEST_F(RailDiallerTest, join__asks_the_peer_for_a_lane_of_the_session) {
  dial();
  Hello hello;
  heard(hello);
  EXPECT_EQ(hello.kind, Hello::Kind::join);
  EXPECT_EQ(hello.from, kOwn);
  EXPECT_EQ(hello.to, kPeer);
  EXPECT_EQ(hello.session, session_->serial());
  EXPECT_EQ(hello.lane, 3);
  EXPECT_EQ(hello.local_rail, 0);
  EXPECT_EQ(hello.remote_rail, 1);
  EXPECT_TRUE(hello.rails.empty());
}

TEST_F(RailDiallerTest, join__a_question_names_our_rails) {
  dial(true);
  Hello hello;
  heard(hello);
  EXPECT_EQ(hello.kind, Hello::Kind::join);
  EXPECT_EQ(hello.rails, here_.announced);
}

TEST_F(RailDiallerTest, a_refusal_is_answered_by_what_it_means) {
  for (const auto& [refusal, kind] : {std::pair{Refusal::duplicate, Answer::duplicate},
                                      {Refusal::unknown_session, Answer::unknown_session},
                                      {Refusal::stranger, Answer::stranger},
                                      {Refusal::none, Answer::failed},
                                      {Refusal::crossing, Answer::failed},
                                      {Refusal::encryption, Answer::failed}}) {
    const JoinAnswer answer = answer_to_refusal(refusal);
    EXPECT_EQ(answer.kind, kind) << int(refusal);
    EXPECT_EQ(answer.why, "for a reason");
  }
}

TEST_F(RailDiallerTest, a_port_on_which_nobody_listens_is_a_refused_connection) {
  PeerAddress nobody = porch_.address();
  nobody.port = 1;
  dial_at(nobody);
  EXPECT_EQ(answer().kind, Answer::refused_connection);
}

TEST_F(RailDiallerTest, a_peer_that_closes_the_connection_has_refused_nothing) {
  dial();
  Hello hello;
  heard(hello).hang_up();
  EXPECT_EQ(answer().kind, Answer::failed);
  EXPECT_FALSE(answer().why.empty());
}

TEST_F(RailDiallerTest, a_welcome_that_is_not_for_this_lane_is_a_wrong_one) {
  const auto answer_to_welcome = [&](const std::function<void(Hello&)>& change) {
    answer_.reset();
    dial();
    Hello hello;
    Talker& peer = heard(hello);
    Hello welcome = reply_to(hello, Hello::Kind::welcome);
    change(welcome);
    peer.say(welcome);
    return answer();
  };
  const JoinAnswer by_other = answer_to_welcome([](Hello& welcome) { welcome.from = kOther; });
  EXPECT_EQ(by_other.kind, Answer::wrong_welcome);
  EXPECT_NE(by_other.why.find("by another instance"), std::string::npos) << by_other.why;
  EXPECT_EQ(answer_to_welcome([](Hello& welcome) { ++welcome.session; }).kind, Answer::wrong_welcome);
  EXPECT_EQ(answer_to_welcome([](Hello& welcome) { ++welcome.lane; }).kind, Answer::wrong_welcome);
}

TEST_F(RailDiallerTest, take__confirms_the_lane_and_hands_it_over) {
  dial();
  Hello hello;
  Talker& peer = heard(hello);
  Hello welcome = reply_to(hello, Hello::Kind::welcome);
  welcome.remote_rail = 4;
  peer.say(welcome);
  const JoinAnswer answered = answer();
  EXPECT_EQ(answered.kind, Answer::welcome);
  EXPECT_EQ(answered.remote_rail, 4);
  EXPECT_TRUE(answered.why.empty());
  on_reactor(reactor_, [this] { EXPECT_TRUE(join_->take({0, 4}, true).ok()); });
  const std::optional<Hello> confirm = peer.receive();
  ASSERT_TRUE(confirm);
  EXPECT_EQ(confirm->kind, Hello::Kind::confirm);
  EXPECT_EQ(confirm->lane, 3);
  ASSERT_EQ(joined_.size(), 1u);
  EXPECT_EQ(joined_[0].id, 3);
  EXPECT_EQ(joined_[0].rails, (RailPair{0, 4}));
  EXPECT_TRUE(joined_[0].doubtful);
  EXPECT_TRUE(joined_[0].bootstrap.fd);
  EXPECT_TRUE(joined_[0].begun.take_agreed());
}

TEST_F(RailDiallerTest, a_destroyed_join_closes_its_connection_without_an_answer) {
  dial();
  Hello hello;
  Talker& peer = heard(hello);
  on_reactor(reactor_, [this] { join_.reset(); });
  EXPECT_TRUE(peer.hears_the_end());
  on_reactor(reactor_, [this] { EXPECT_FALSE(answer_); });
}

}  // namespace
}  // namespace railweave::engine
