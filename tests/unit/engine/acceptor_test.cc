// Acceptor without an engine: the test dials, and receives what is accepted.
#include "engine/connect/acceptor.h"

#include <sys/resource.h>

#include <algorithm>

#include "tests/unit/engine/on_reactor.h"
#include "tests/unit/engine/session_fixture.h"
#include "tests/unit/engine/talker.h"

namespace railweave::engine {
namespace {

constexpr InstanceId kOwn{5}, kYounger{4}, kElder{6};  // instances less and greater than ours
constexpr int kNoRailsInterface = 424'242;

class AcceptorTest : public SessionTest, public AcceptorOwner {
 protected:
  AcceptorTest() {
    self_.instance = kOwn;
    self_.name = "here pid 1";
    self_.rails = &rails_.now();
    self_.announced = &rails_.with_ports();
    self_.config = &config_;
    self_.wires = &rails_.wires();
    EXPECT_TRUE(rails_.open().ok());
    EXPECT_TRUE(reactor_.start().ok());
  }
  ~AcceptorTest() override {
    reactor_.stop();
    acceptor_.stop();
    directory_.stop_dialling();
    directory_.fail_all();
  }
  static std::vector<Rail> two_rails() {
    std::vector<Rail> rails{loopback_rail(), loopback_rail()};
    for (std::size_t i = 0; i < rails.size(); ++i) {
      rails[i].name = "rail" + std::to_string(i);
      rails[i].ifindex = 10 + int(i);
      rails[i].addresses[0].bytes[3] = std::uint8_t(1 + i);
    }
    return rails;
  }

  // Makes a connection to the address of rail `dialled`, whose packets arrive on the interface of index `interface`.
  Talker call(int interface = 10, int dialled = 0) {
    Talker caller = Talker::dial(porch_.port());
    wire::Accepted accepted = porch_.accept();
    accepted.interface = interface;
    on_reactor(reactor_, [&] { acceptor_.on_connection(std::move(accepted), dialled); });
    return caller;
  }
  static Hello first(const InstanceId& from = kElder, std::uint64_t serial = 77) {
    Hello hello;
    hello.from = from;
    hello.to = kOwn;
    hello.session = serial;
    hello.peer = "there pid 2";
    hello.rails = {{"eth0", 0, {}, false}, {"eth1", 0, {}, false}};
    return hello;
  }
  static Hello join(int lane, int local_rail = 0, const InstanceId& from = kElder, std::uint64_t serial = 77) {
    Hello hello = first(from, serial);
    hello.kind = Hello::Kind::join;
    hello.lane = std::uint16_t(lane);
    hello.local_rail = std::uint8_t(local_rail);
    hello.rails.clear();
    return hello;
  }
  static Hello answer_to(Talker& caller, const Hello& hello) {
    caller.say(hello);
    auto answer = caller.receive();
    EXPECT_TRUE(answer) << "closed without an answer";
    return answer ? std::move(*answer) : Hello();
  }
  // Waits until the acceptor has handled everything sent so far: a connection made later gets its answer later.
  void settle() {
    Talker last = call();
    Hello stranger = first();
    stranger.to = {99};
    EXPECT_EQ(answer_to(last, stranger).refusal, Hello::Refusal::stranger);
    on_reactor(reactor_, [] {});
  }
  std::size_t accepted() {
    std::size_t sessions = 0;
    on_reactor(reactor_, [&] { sessions = accepted_.size(); });
    return sessions;
  }
  bool accepts(std::size_t sessions) {
    return eventually_on(reactor_, [&] { return accepted_.size() == sessions; });
  }
  // Registers session_, whose serial is 1, as the session with `peer`.
  void put_session(const InstanceId& peer) {
    on_reactor(reactor_, [&] { directory_.put({peer, 0}, session_); });
  }

  // --- AcceptorOwner
  struct First {
    Hello hello;
    protocol::LaneId lane;
    RailPair rails;
    bool by_rails, connected;
  };
  void accept_session(const Hello& hello, NewLane lane) override {
    accepted_.push_back({hello, lane.id, lane.rails, lane.by_rails, bool(lane.bootstrap.fd)});
    kept_.push_back(std::move(lane));
  }
  void add_lane(Session& session, NewLane lane) override {
    EXPECT_EQ(&session, session_.get());
    joined_.push_back(lane.rails);
    kept_.push_back(std::move(lane));
  }
  bool was_dialled(const Session&) override { return was_dialled_; }
  void on_probe(const Session& session, const RailPair& by, Address::Family,
                const std::vector<PeerRail>& peer_rails) override {
    EXPECT_EQ(&session, session_.get());
    probes_.push_back(by);
    probed_with_ = peer_rails;
  }

  Porch porch_;
  Reactor reactor_;
  OwnRails rails_{config_, reactor_, two_rails()};
  Identity self_;
  SessionDirectory directory_{reactor_, self_, Status(Code::cancelled, Scope::engine, "the engine ended"),
                              [](const PeerKey&, const Hello&, std::uint64_t, NewLane, SessionDirectory::Waiters) {
                                ADD_FAILURE() << "nobody welcomes our dials";
                              }};
  LoggedAbsences logged_absences_;
  // The fields below belong to the reactor's thread.
  std::vector<First> accepted_;
  std::vector<RailPair> joined_, probes_;
  std::vector<PeerRail> probed_with_;
  std::vector<NewLane> kept_;
  bool was_dialled_ = false;
  Acceptor acceptor_{reactor_, self_, rails_, directory_, logged_absences_, *this};
};

using Kind = Hello::Kind;
using Refusal = Hello::Refusal;

// ------------------------------------------------------------------------------------------------------ the first lane

TEST_F(AcceptorTest, a_session_begins_with_the_confirm_and_not_before) {
  Talker caller = call(11, 1);
  Hello hello = first();
  hello.local_rail = 1;
  hello.traffic_class = 8;
  const Hello answer = answer_to(caller, hello);
  ASSERT_EQ(answer.kind, Kind::welcome) << answer.reason;
  EXPECT_EQ(answer.from, kOwn);
  EXPECT_EQ(answer.to, kElder);
  EXPECT_EQ(answer.session, 77u);
  EXPECT_EQ(answer.remote_rail, 1);
  EXPECT_EQ(answer.traffic_class, 8);
  EXPECT_EQ(answer.rails, rails_.with_ports());
  settle();
  EXPECT_EQ(accepted(), 0u);
  caller.say(confirm_of(answer));
  ASSERT_TRUE(accepts(1));
  EXPECT_EQ(accepted_[0].rails, (RailPair{1, 1}));
  EXPECT_EQ(accepted_[0].hello.session, 77u);
  EXPECT_TRUE(accepted_[0].by_rails && accepted_[0].connected);
}

TEST_F(AcceptorTest, a_confirm_of_another_lane_closes_the_connection) {
  Talker caller = call();
  Hello confirm = confirm_of(answer_to(caller, first()));
  confirm.lane = 1;
  caller.say(confirm);
  EXPECT_TRUE(caller.hears_the_end());
  EXPECT_EQ(accepted(), 0u);
}

TEST_F(AcceptorTest, a_dialler_that_hangs_up_after_its_confirm_begins_nothing) {
  Talker caller = call();
  const Hello answer = answer_to(caller, first());
  on_reactor(reactor_, [&] {
    caller.say(confirm_of(answer));
    caller.hang_up();
  });
  settle();
  EXPECT_EQ(accepted(), 0u);
}

TEST_F(AcceptorTest, of_two_first_lanes_the_one_confirmed_first_counts) {
  Talker slow = call(10, 0), quick = call(11, 1);
  const Hello to_slow = answer_to(slow, first()), to_quick = answer_to(quick, first());
  ASSERT_EQ(to_slow.kind, Kind::welcome);
  ASSERT_EQ(to_quick.kind, Kind::welcome);
  quick.say(confirm_of(to_quick));
  ASSERT_TRUE(accepts(1));
  EXPECT_EQ(accepted_[0].rails.local, 1);
}

TEST_F(AcceptorTest, a_confirm_after_another_session_came_is_too_late) {
  Talker caller = call();
  const Hello answer = answer_to(caller, first());
  put_session(kElder);
  caller.say(confirm_of(answer));
  EXPECT_TRUE(caller.hears_the_end());
  EXPECT_EQ(accepted(), 0u);
}

TEST_F(AcceptorTest, a_first_lane_by_an_unannounced_rail_is_refused) {
  Talker caller = call();
  Hello hello = first();
  hello.local_rail = 2;
  const Hello answer = answer_to(caller, hello);
  EXPECT_EQ(answer.kind, Kind::refused);
  EXPECT_EQ(answer.reason, "the dialler's rail 2 is not among the 2 that it announces");
  EXPECT_TRUE(caller.hears_the_end());
}

TEST_F(AcceptorTest, a_misdirected_hello_is_refused_without_our_instance) {
  Hello elsewhere = first(), no_beginning = first();
  elsewhere.to = {99};
  no_beginning.kind = Kind::confirm;
  for (const Hello& hello : {elsewhere, no_beginning}) {
    Talker caller = call();
    const Hello answer = answer_to(caller, hello);
    EXPECT_EQ(answer.kind, Kind::refused);
    EXPECT_EQ(answer.refusal, Refusal::stranger);
    EXPECT_EQ(answer.from, InstanceId{});
    EXPECT_TRUE(caller.hears_the_end());
  }
}

TEST_F(AcceptorTest, a_dialler_that_encrypts_alone_is_refused_with_one_warning) {
  for (int i = 0; i < 2; ++i) {
    Talker caller = call();
    Hello hello = first();
    hello.features = kFeatureEncrypt;
    const Hello answer = answer_to(caller, hello);
    EXPECT_EQ(answer.refusal, Refusal::encryption);
    EXPECT_EQ(answer.reason, "the peer does not encrypt, we do (RAILWEAVE_ENCRYPT)") << "as its reader would say it";
  }
  settle();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "rejected there pid 2: the peer encrypts (RAILWEAVE_ENCRYPT), we do not");
}

// ------------------------------------------------------------------------------------------ where a connection came in

// The rail whose address was dialled does not count.
TEST_F(AcceptorTest, a_lane_counts_for_the_rail_where_its_packets_arrive) {
  Talker caller = call(11, 0);
  const Hello answer = answer_to(caller, first());
  EXPECT_EQ(answer.remote_rail, 1);
  caller.say(confirm_of(answer));
  ASSERT_TRUE(accepts(1));
  EXPECT_EQ(accepted_[0].rails.local, 1);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("rail rail0: connections to its address arrive at rail rail1, from there pid 2"),
            std::string::npos)
      << warnings[0];
}

TEST_F(AcceptorTest, a_connection_by_an_interface_that_is_no_rail_is_refused) {
  Talker caller = call(kNoRailsInterface, 1);
  const Hello answer = answer_to(caller, first());
  EXPECT_EQ(answer.kind, Kind::refused);
  EXPECT_EQ(answer.refusal, Refusal::none);
  EXPECT_TRUE(answer.reason.starts_with(
      "the connection to rail rail1 arrived on interface 424242, which is no rail here; set `"))
      << answer.reason;
  EXPECT_EQ(answer.from, kOwn) << "a peer may know whom it reached by the wrong way";
}

TEST_F(AcceptorTest, the_dialled_rail_counts_where_the_interface_is_unknown) {
  constexpr int kNotTold = 0, kLoopback = 1;
  for (const int interface : {kNotTold, kLoopback}) {
    Talker caller = call(interface, 1);
    EXPECT_EQ(answer_to(caller, first()).remote_rail, 1) << interface;
  }
}

// ------------------------------------------------------------------------------------------------- dials that cross

TEST_F(AcceptorTest, a_dial_is_refused_while_a_session_of_the_peer_is_there) {
  put_session(kElder);
  Talker caller = call();
  const Hello answer = answer_to(caller, first());
  EXPECT_EQ(answer.kind, Kind::refused);
  EXPECT_EQ(answer.refusal, Refusal::duplicate);
  Hello other_class = first();
  other_class.traffic_class = 8;
  Talker of_another_session = call();
  EXPECT_EQ(answer_to(of_another_session, other_class).kind, Kind::welcome);
  session_->fail(Status(Code::cancelled, Scope::session, "over"));
  Talker later = call();
  EXPECT_EQ(answer_to(later, first()).kind, Kind::welcome);
}

TEST_F(AcceptorTest, our_dial_yields_to_a_greater_instance_and_to_no_lesser) {
  const Porch peers;
  for (const InstanceId& peer : {kYounger, kElder}) {
    const auto pending = std::make_shared<PendingStream>(HandleContent{peer, 7, {peers.address()}}, 0, 1,
                                                         Priority::normal, now() + std::chrono::seconds(20));
    const TimePoint dialled = now();
    directory_.open(pending);
    Talker caller = call();
    const Hello answer = answer_to(caller, first(peer));
    if (peer == kElder) {
      EXPECT_EQ(answer.kind, Kind::welcome);
    } else if (now() - dialled < std::chrono::seconds(1)) {  // an older dial yields to any other
      EXPECT_EQ(answer.refusal, Refusal::crossing);
    }
  }
}

// Both callers were welcomed before either confirmed.
TEST_F(AcceptorTest, a_session_of_our_dial_without_frames_yields_to_a_greater) {
  Talker lesser = call(), greater = call();
  const Hello to_lesser = answer_to(lesser, first(kYounger)), to_greater = answer_to(greater, first(kElder));
  was_dialled_ = true;
  put_session(kYounger);
  put_session(kElder);
  lesser.say(confirm_of(to_lesser));
  EXPECT_TRUE(lesser.hears_the_end()) << "ours stays";
  EXPECT_EQ(accepted(), 0u);
  greater.say(confirm_of(to_greater));
  ASSERT_TRUE(accepts(1));
  EXPECT_EQ(accepted_[0].hello.from, kElder);
}

TEST_F(AcceptorTest, a_session_with_frames_or_dialled_by_the_peer_never_yields) {
  add_lanes(1);
  for (const bool was_heard : {false, true}) {
    Talker caller = call();
    const Hello answer = answer_to(caller, first(kElder));
    ASSERT_EQ(answer.kind, Kind::welcome);
    was_dialled_ = was_heard;
    if (was_heard) {
      paper_[0].says({});
      drive();
    }
    put_session(kElder);
    caller.say(confirm_of(answer));
    EXPECT_TRUE(caller.hears_the_end()) << was_heard;
    EXPECT_EQ(accepted(), 0u) << was_heard;
    on_reactor(reactor_, [&] { directory_.remove(session_); });
  }
}

// ----------------------------------------------------------------------------------------------------- lanes that join

TEST_F(AcceptorTest, a_join_of_an_unknown_session_is_refused) {
  put_session(kElder);  // serial 1
  for (const Hello& hello : {join(1), join(1, 0, kYounger, 1)}) {
    Talker caller = call();
    const Hello answer = answer_to(caller, hello);
    EXPECT_EQ(answer.kind, Kind::refused);
    EXPECT_EQ(answer.refusal, Refusal::unknown_session);
  }
}

TEST_F(AcceptorTest, a_confirmed_join_goes_to_its_session) {
  put_session(kElder);
  Talker caller = call(11, 1);
  const Hello answer = answer_to(caller, join(3, 1, kElder, 1));
  ASSERT_EQ(answer.kind, Kind::welcome);
  EXPECT_TRUE(answer.rails.empty()) << "known from the first lane";
  caller.say(confirm_of(answer));
  ASSERT_TRUE(eventually_on(reactor_, [this] { return !joined_.empty(); }));
  EXPECT_EQ(joined_, (std::vector<RailPair>{{1, 1}}));
  EXPECT_TRUE(accepted_.empty());
}

TEST_F(AcceptorTest, a_join_for_a_known_lane_is_refused_and_taken_for_a_probe) {
  put_session(kElder);
  on_reactor(reactor_, [this] { add_lanes(1); });
  Talker caller = call(11, 1);
  Hello hello = join(0, 1, kElder, 1);
  hello.rails = {{"eth9", 0, {}, false}};
  const Hello answer = answer_to(caller, hello);
  EXPECT_EQ(answer.refusal, Refusal::duplicate);
  ASSERT_TRUE(eventually_on(reactor_, [this] { return !probes_.empty(); }));
  EXPECT_EQ(probes_, (std::vector<RailPair>{{1, 1}}));
  EXPECT_EQ(probed_with_, hello.rails);
}

TEST_F(AcceptorTest, of_two_joins_for_one_lane_the_one_confirmed_first_counts) {
  put_session(kElder);
  Talker quick = call(), slow = call();
  const Hello to_quick = answer_to(quick, join(0, 0, kElder, 1)), to_slow = answer_to(slow, join(0, 1, kElder, 1));
  ASSERT_EQ(to_slow.kind, Kind::welcome);
  quick.say(confirm_of(to_quick));
  ASSERT_TRUE(eventually_on(reactor_, [this] { return joined_.size() == 1; }));
  on_reactor(reactor_, [this] { add_lanes(1); });
  slow.say(confirm_of(to_slow));
  EXPECT_TRUE(slow.hears_the_end());
  on_reactor(reactor_, [this] { EXPECT_EQ(joined_, (std::vector<RailPair>{{0, 0}})); });
}

// The connection of the first lane is slower than that of a join, or lost.
TEST_F(AcceptorTest, a_join_confirmed_before_the_first_lane_begins_the_session) {
  Talker slow = call(10, 0), quick = call(11, 1);
  const Hello to_slow = answer_to(slow, first(kElder, 1)), answer = answer_to(quick, join(1, 1, kElder, 1));
  ASSERT_EQ(to_slow.kind, Kind::welcome);
  ASSERT_EQ(answer.kind, Kind::welcome) << answer.reason;
  quick.say(confirm_of(answer));
  ASSERT_TRUE(accepts(1));
  EXPECT_EQ(accepted_[0].lane, 1);
  EXPECT_EQ(accepted_[0].rails, (RailPair{1, 1}));
  EXPECT_EQ(accepted_[0].hello.kind, Kind::first);
  EXPECT_EQ(accepted_[0].hello.rails.size(), 2u) << "a join names no rails, the first does";
  put_session(kElder);
  slow.say(confirm_of(to_slow));
  ASSERT_TRUE(eventually_on(reactor_, [this] { return !joined_.empty(); })) << "the first lane is one more, then";
  EXPECT_EQ(joined_, (std::vector<RailPair>{{0, 0}}));
  EXPECT_EQ(accepted_.size(), 1u);
}

TEST_F(AcceptorTest, a_join_whose_first_lane_was_given_up_begins_nothing) {
  Talker gone = call(), left = call();
  ASSERT_EQ(answer_to(gone, first()).kind, Kind::welcome);
  const Hello answer = answer_to(left, join(1));
  ASSERT_EQ(answer.kind, Kind::welcome);
  gone.hang_up();
  settle();
  left.say(confirm_of(answer));
  EXPECT_TRUE(left.hears_the_end());
  EXPECT_EQ(accepted(), 0u);
}

// ---------------------------------------------------------------------------------------------------- within this host

TEST_F(AcceptorTest, a_local_session_begins_with_the_hello_without_confirm) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  std::unique_ptr<Handshake> dialler;
  Hello answer;
  on_reactor(reactor_, [&] {
    auto begun = rails_.wires().dial(Wires::kWithinHost, InstanceId{});
    ASSERT_TRUE(begun.ok());
    acceptor_.on_local_connection(OwnedFd(ends[0]));
    dialler = Handshake::dial_local(reactor_, OwnedFd(ends[1]), std::move(begun->descriptor), first(), {},
                                    now() + std::chrono::seconds(20),
                                    [&](Handshake::Outcome outcome) { answer = std::move(outcome.hello); });
  });
  ASSERT_TRUE(accepts(1));
  EXPECT_FALSE(accepted_[0].by_rails);
  EXPECT_TRUE(accepted_[0].connected) << "the connection tells that the peer lives";
  ASSERT_TRUE(eventually_on(reactor_, [&] { return answer.kind == Kind::welcome; }));
  EXPECT_EQ(answer.rails, rails_.with_ports());
  on_reactor(reactor_, [&] { dialler.reset(); });
}

// ------------------------------------------------------------------------------------------------------------- the end

TEST_F(AcceptorTest, stop__closes_handshakes_at_every_step_and_takes_no_more) {
  Talker silent = call(), welcomed = call();
  const Hello answer = answer_to(welcomed, first());
  ASSERT_EQ(answer.kind, Kind::welcome);
  on_reactor(reactor_, [this] { acceptor_.stop(); });
  EXPECT_TRUE(silent.hears_the_end());
  EXPECT_TRUE(welcomed.hears_the_end());
  Talker late = call();
  EXPECT_TRUE(late.hears_the_end());
  EXPECT_EQ(accepted(), 0u);
}

// The caller that has been silent for longest is the least likely to be a peer.
TEST_F(AcceptorTest, of_too_many_silent_connections_the_oldest_is_closed) {
  constexpr int kMost = 1024;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit enough = before;
  enough.rlim_cur = std::max<rlim_t>(before.rlim_cur, 2 * kMost + 200);
  if (::setrlimit(RLIMIT_NOFILE, &enough) != 0) GTEST_SKIP() << "no descriptors for so many";
  std::vector<Talker> silent;
  for (int i = 0; i < kMost + 2; ++i) silent.push_back(call());
  EXPECT_TRUE(silent[0].hears_the_end());
  EXPECT_TRUE(silent[1].hears_the_end());
  EXPECT_EQ(answer_to(silent[2], first()).kind, Kind::welcome);
  EXPECT_EQ(answer_to(silent.back(), first()).kind, Kind::welcome);
  (void)::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace railweave::engine
