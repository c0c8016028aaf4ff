// Connecting: two instances share one session per traffic class, whichever side connects the streams.
#include <gtest/gtest.h>

#include "two_engines.h"

namespace railweave::engine_test {
namespace {

std::size_t sessions_of(const Engine& engine) { return engine.stats().sessions.size(); }

std::size_t lanes_of(const Engine& engine) {
  std::size_t lanes = 0;
  for (const SessionStats& s : engine.stats().sessions)
    for (const LaneStats& lane : s.lanes) lanes += !lane.closed;
  return lanes;
}

struct Meeting {
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Connector> connector;
};

// Opens a listener at `to` and begins a dial from `from`; the connector is not polled yet.
Meeting begin(Engine& from, Engine& to) {
  Handle handle;
  auto listener = to.listen(0, handle);
  if (!listener.ok()) return ADD_FAILURE() << listener.status().message(), Meeting{};
  auto connector = from.connect(0, handle);
  if (!connector.ok()) return ADD_FAILURE() << connector.status().message(), Meeting{};
  return {std::move(*listener), std::move(*connector)};
}

TEST(Connect, messages_of_every_size_arrive) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  unsigned seed = 0;
  for (std::size_t bytes :
       {0, 1, 47, 48, 127, 128, 129, 4096, 16384, 16385, 65536, 65537, 262144, 262145, 1 << 20, 9'999'999})
    ASSERT_TRUE(transfer(ends, bytes, ++seed));
}

TEST(Connect, an_instance_reaches_itself) {
  const auto a = start_engine();
  ASSERT_TRUE(a);
  Ends first = join(*a, *a), second = join(*a, *a);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(sessions_of(*a), 2u) << "the dialling and the accepting half";
  for (unsigned seed = 0; seed < 20; ++seed) {
    ASSERT_TRUE(transfer(first, 100'000, seed));
    ASSERT_TRUE(transfer(second, 100, seed + 1000));
  }
}

TEST(Connect, crossing_dials_make_one_session) {
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const auto a = start_engine(), b = start_engine();
    ASSERT_TRUE(a && b);
    Meeting there = begin(*a, *b), back = begin(*b, *a);
    Ends first = meet(*there.connector, *there.listener), second = meet(*back.connector, *back.listener);
    ASSERT_TRUE(first && second);
    ASSERT_TRUE(transfer(first, 50'000, 1) && transfer(second, 50'000, 2));
    EXPECT_EQ(sessions_of(*a), 1u);
    EXPECT_EQ(sessions_of(*b), 1u);
    EXPECT_EQ(lanes_of(*a), 1u);
    EXPECT_EQ(lanes_of(*b), 1u);
  }
}

TEST(Connect, many_streams_use_the_sockets_of_one) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  std::vector<Ends> streams;
  streams.push_back(join(*a, *b));
  ASSERT_TRUE(streams.front());
  const int before = open_descriptors();
  for (int i = 1; i < 64; ++i) streams.push_back(i % 2 ? join(*a, *b) : join(*b, *a));
  for (unsigned i = 0; i < streams.size(); ++i) {
    ASSERT_TRUE(streams[i]) << i;
    ASSERT_TRUE(transfer(streams[i], 10'000, i));
  }
  // Fewer are possible: `before` may count sockets that the first connect was about to close.
  EXPECT_LE(open_descriptors(), before);
  EXPECT_EQ(sessions_of(*a), 1u);
}

TEST(Connect, lanes_per_rail_is_obeyed) {
  Config config = loopback();
  config.lanes_per_rail = 4;
  const auto a = start_engine(config), b = start_engine(config);
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  EXPECT_TRUE(eventually([&] { return lanes_of(*a) == 4 && lanes_of(*b) == 4; }))
      << lanes_of(*a) << " and " << lanes_of(*b);
  for (unsigned seed = 0; seed < 10; ++seed) ASSERT_TRUE(transfer(ends, 4 << 20, seed));
  std::size_t used = 0;
  const EngineStats stats = a->stats();
  for (const LaneStats& lane : stats.sessions.front().lanes) used += lane.bytes_sent > 0;
  EXPECT_EQ(used, 4u);
}

TEST(Connect, stats_name_every_rail_before_any_session) {
  const auto a = start_engine();
  ASSERT_TRUE(a);
  const EngineStats stats = a->stats();
  EXPECT_TRUE(stats.sessions.empty());
  ASSERT_EQ(stats.rails.size(), a->rails().size());
  EXPECT_EQ(stats.rails[0].name, "lo");
  ASSERT_FALSE(stats.rails[0].addresses.empty());
  EXPECT_EQ(stats.rails[0].addresses[0], "127.0.0.1");
  EXPECT_TRUE(stats.rails[0].link_up);
}

TEST(Connect, traffic_classes_have_sessions_of_their_own) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Handle handle;
  auto listener = b->listen(0, handle);
  ASSERT_TRUE(listener.ok());
  std::vector<Ends> streams;
  for (int octet : {0, 0x68, 0x68, 0x20}) {
    auto connector = a->connect(0, handle, octet);
    ASSERT_TRUE(connector.ok());
    streams.push_back(meet(**connector, **listener));
    ASSERT_TRUE(streams.back());
  }
  EXPECT_EQ(sessions_of(*a), 3u);
  for (Ends& ends : streams) ASSERT_TRUE(transfer(ends, 1000, 7));
}

// 512 connects from 64 engines: no connector is polled before the last connect has begun.
TEST(Connect, one_listener_takes_512_connects_at_once) {
  const auto to = start_engine();
  ASSERT_TRUE(to);
  Handle handle;
  auto listener = to->listen(0, handle);
  ASSERT_TRUE(listener.ok());
  constexpr int kEngines = 64, kEach = 8;
  std::vector<std::shared_ptr<Engine>> engines;
  for (int i = 0; i < kEngines; ++i) {
    engines.push_back(start_engine());
    ASSERT_TRUE(engines.back());
  }
  std::vector<std::unique_ptr<Connector>> connectors;
  for (int i = 0; i < kEach * kEngines; ++i) {
    auto connector = engines[std::size_t(i % kEngines)]->connect(0, handle);
    ASSERT_TRUE(connector.ok()) << connector.status().message();
    connectors.push_back(std::move(*connector));
  }
  std::vector<std::unique_ptr<SendStream>> sends;
  std::vector<std::unique_ptr<RecvStream>> recvs;
  Status failed;
  const bool all = eventually(
      [&] {
        for (auto& connector : connectors) {
          if (!connector) continue;
          auto send = connector->poll();
          if (!send.ok()) failed = send.status();
          if (!send.ok() || !*send) continue;
          sends.push_back(std::move(*send));
          connector.reset();
        }
        for (;;) {
          auto recv = (*listener)->accept();
          if (!recv.ok()) failed = recv.status();
          if (!recv.ok() || !*recv) break;
          recvs.push_back(std::move(*recv));
        }
        return !failed.ok() || (sends.size() == connectors.size() && recvs.size() == connectors.size());
      },
      std::chrono::seconds(60));
  EXPECT_TRUE(failed.ok()) << failed.message();
  ASSERT_TRUE(all) << sends.size() << " sends and " << recvs.size() << " receives of " << connectors.size();
  EXPECT_EQ(sessions_of(*to), std::size_t(kEngines));
}

TEST(Connect, a_closed_listener_is_named_in_the_refusal) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Handle handle;
  {
    auto listener = b->listen(0, handle);
    ASSERT_TRUE(listener.ok());
  }
  auto connector = a->connect(0, handle);
  ASSERT_TRUE(connector.ok());
  Status status;
  ASSERT_TRUE(eventually([&] {
    auto send = (*connector)->poll();
    if (!send.ok()) status = send.status();
    return !send.ok();
  }));
  EXPECT_EQ(status.code(), Code::remote);
  EXPECT_NE(status.message().find("no such listener"), std::string::npos) << status.message();
}

TEST(Connect, an_address_without_a_listener_is_an_error_in_bounded_time) {
  Config config = loopback();
  config.connect_timeout = std::chrono::seconds(3);
  const auto a = start_engine(config);
  ASSERT_TRUE(a);
  Handle handle;
  {
    const auto gone = start_engine();
    ASSERT_TRUE(gone);
    auto listener = gone->listen(0, handle);
    ASSERT_TRUE(listener.ok());
  }
  auto connector = a->connect(0, handle);
  ASSERT_TRUE(connector.ok());
  Status status;
  ASSERT_TRUE(eventually(
      [&] {
        auto send = (*connector)->poll();
        if (!send.ok()) status = send.status();
        return !send.ok();
      },
      std::chrono::seconds(10)));
  EXPECT_TRUE(status.message().find("127.0.0.1") != std::string::npos ||
              status.message().find("[::1]") != std::string::npos)
      << status.message();
}

TEST(Connect, connectors_that_give_up_leave_nothing_behind) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  LogCapture log;
  for (int i = 0; i < 200; ++i) {
    Meeting m = begin(*a, *b);
    ASSERT_TRUE(m.connector);
    if (i % 3 == 1) (void)m.connector->poll();
  }
  // A lane's ledger refers to a stream until the peer's next frame on that lane reports what the peer consumed.
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(transfer(ends, 100'000, 3));
    const auto here = a->stats(), there = b->stats();
    return here.sessions.front().send_streams == 1 && there.sessions.front().recv_streams == 1;
  })) << a->stats().sessions.front().send_streams
      << " send streams, " << b->stats().sessions.front().recv_streams << " receive streams";
  EXPECT_EQ(log.warnings(), std::vector<std::string>());
}

}  // namespace
}  // namespace railweave::engine_test
