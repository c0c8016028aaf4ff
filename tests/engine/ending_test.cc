// Ends of streams, engines and peers: which error the other side gets, and that nothing stays behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"
#include "dialling_peer.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

TEST(Ending, a_closed_stream_is_forgotten_at_both_ends) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Ends kept = join(*a, *b);
  ASSERT_TRUE(kept);
  for (unsigned i = 0; i < 100; ++i) {
    Ends ends = join(*a, *b);
    ASSERT_TRUE(ends);
    ASSERT_TRUE(transfer(ends, i % 2 ? 100 : 100'000, i));
    if (i % 3 == 0) ends.recv.reset();
    if (i % 3 == 1) ends.send.reset();
  }
  const auto left = [&] {
    return std::pair(a->stats().sessions.front().send_streams, b->stats().sessions.front().recv_streams);
  };
  // A lane's ledger refers to a stream until the peer's next frame on that lane reports what the peer consumed.
  EXPECT_TRUE(eventually([&] { return transfer(kept, 10, 1) && left() == std::pair(1u, 1u); }, 5s))
      << left().first << " and " << left().second;
}

TEST(Ending, each_end_learns_of_the_others_close) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  for (bool sender_first : {true, false}) {
    Ends ends = join(*a, *b);
    ASSERT_TRUE(ends);
    std::vector<std::byte> place(1 << 20);
    const auto data = pattern(1 << 20, 1);
    Status heard;
    if (sender_first) {
      Request* const receive = post_recv(*ends.recv, place);
      ends.send.reset();
      heard = finish(*ends.recv, receive).status();
    } else {
      Request* const send = post_send(*ends.send, data);
      ends.recv.reset();
      heard = finish(*ends.send, send).status();
    }
    EXPECT_EQ(heard.code(), Code::left) << heard.message();
    EXPECT_EQ(heard.scope(), Scope::stream) << heard.message();
  }
}

TEST(Ending, a_send_larger_than_its_receive_fails_at_both_ends_alone) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Ends other = join(*a, *b);
  ASSERT_TRUE(other);
  for (std::size_t bytes : {200u, 200'000u}) {
    Ends ends = join(*a, *b);
    ASSERT_TRUE(ends);
    std::vector<std::byte> place(100), next(100);
    const auto data = pattern(bytes, 1);
    Request* const receive = post_recv(*ends.recv, place);
    Request* const behind = post_recv(*ends.recv, next);
    Request* const send = post_send(*ends.send, data);
    EXPECT_EQ(finish(*ends.recv, receive).status().code(), Code::truncated);
    EXPECT_FALSE(finish(*ends.recv, behind).ok());
    const Status sent = finish(*ends.send, send).status();
    if (bytes > 64 * KiB) {
      EXPECT_EQ(sent.code(), Code::truncated) << sent.message();
    } else {
      // An eager send is done before its receive is known: a later send of the stream gets the error.
      Status later;
      eventually([&] {
        Result<Request*> more = ends.send->post(data.data(), data.size());
        if (!more.ok())
          later = more.status();
        else if (*more)
          later = finish(*ends.send, *more).status();
        return !later.ok();
      });
      EXPECT_EQ(later.code(), Code::truncated) << later.message();
    }
    ASSERT_TRUE(transfer(other, 30'000, 4));
  }
}

TEST(Ending, withdrawn_memory_is_touched_no_more) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  for (unsigned round = 0; round < 30; ++round) {
    Ends ends = join(*a, *b);
    ASSERT_TRUE(ends);
    std::vector<std::byte> place(1 << 20);
    const auto data = pattern(place.size(), 1);
    Request* const receive = post_recv(*ends.recv, place);
    Request* const send = post_send(*ends.send, data);
    bool received = false;  // a request must not be tested after it was done
    for (unsigned i = 0; i < round && !received; ++i) received = ends.recv->test(receive)->done;
    if (round % 2) {
      ends.recv->withdraw(place.data(), place.size());
      std::fill(place.begin(), place.end(), std::byte{0x77});
    } else {
      ends.send->withdraw(data.data(), data.size());
    }
    std::this_thread::sleep_for(2ms);
    if (round % 2) {
      EXPECT_EQ(std::count(place.begin(), place.end(), std::byte{0x77}), std::ptrdiff_t(place.size()));
    }
    // Both requests end, with or without an error: one end may have been done before the other withdrew its memory.
    EXPECT_NE(finish(*ends.send, send).status().code(), Code::timed_out);
    if (!received) {
      EXPECT_NE(finish(*ends.recv, receive).status().code(), Code::timed_out);
    }
  }
  Ends after = join(*a, *b);
  ASSERT_TRUE(after);
  EXPECT_TRUE(transfer(after, 1 << 20, 2)) << "the lane outlives every stream";
}

TEST(Ending, a_closing_stream_spares_memory_that_another_uses_now) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  const auto data = pattern(4 << 20, 1);
  for (unsigned round = 0; round < 20; ++round) {
    Ends first = join(*a, *b), second = join(*a, *b);
    ASSERT_TRUE(first && second);
    std::vector<std::byte> place(data.size());
    Request* const given_up = post_recv(*first.recv, place);
    first.recv->withdraw(place.data(), place.size());
    EXPECT_FALSE(finish(*first.recv, given_up).ok());
    Request* const receive = post_recv(*second.recv, place);
    Request* const send = post_send(*second.send, data);
    bool sent = false, received = false;
    for (unsigned i = 0; i < round && !received; ++i) {  // stops when part of the message has landed
      sent = sent || second.send->test(send)->done;
      received = second.recv->test(receive)->done;
    }
    first = {};
    ASSERT_TRUE(received || finish(*second.recv, receive).ok()) << "round " << round;
    ASSERT_TRUE(sent || finish(*second.send, send).ok()) << "round " << round;
    ASSERT_TRUE(place == data) << "round " << round;
  }
}

TEST(Ending, an_engine_that_owes_nothing_leaves_without_a_warning) {
  LogCapture log;
  const auto stays = start_engine();
  ASSERT_TRUE(stays);
  for (unsigned round = 0; round < 20; ++round) {
    auto leaves = start_engine();
    ASSERT_TRUE(leaves);
    Ends there = join(*leaves, *stays), back = join(*stays, *leaves);
    ASSERT_TRUE(there && back);
    ASSERT_TRUE(transfer(there, 100'000, round) && transfer(back, 100, round));
    there = {};
    back = {};
    const TimePoint begin = now();
    leaves.reset();
    EXPECT_LT(now() - begin, sooner_than_waiting(900ms));
    EXPECT_TRUE(eventually([&] { return stays->stats().sessions.empty(); }, sooner_than_waiting(2s)));
  }
  EXPECT_EQ(log.warnings(), std::vector<std::string>()) << log.all();
}

// The receiver gets all that was sent, even if the sender's engine ends at once.
TEST(Ending, last_messages_arrive_though_the_sender_leaves_at_once) {
  const auto b = start_engine();
  ASSERT_TRUE(b);
  for (unsigned round = 0; round < 30; ++round) {
    auto a = start_engine();
    ASSERT_TRUE(a);
    Ends ends = join(*a, *b);
    ASSERT_TRUE(ends);
    const auto data = pattern(round % 2 ? 300 : 200'000, round);
    std::vector<std::byte> place(data.size());
    Request* const receive = post_recv(*ends.recv, place);
    Request* const send = post_send(*ends.send, data);
    ASSERT_TRUE(finish(*ends.send, send).ok());
    ends.send.reset();
    a.reset();
    const auto received = finish(*ends.recv, receive);
    ASSERT_TRUE(received.ok()) << received.status().message();
    ASSERT_TRUE(place == data);
  }
}

TEST(Ending, a_killed_peer_ends_every_request_within_a_second) {
  Forked peer([](Wire& wire) {
    return dial_and(wire, loopback(), [&](Engine&, SendStream& send) {
      (void)wire.say(char{1});
      for (;;) (void)send.post(nullptr, 0), pause();
      return 0;
    });
  });
  Host host;
  ASSERT_TRUE(host.welcome(peer));
  ASSERT_TRUE(peer.wire().receive<char>());
  std::vector<std::byte> first(100), place(1000);
  ASSERT_TRUE(finish(*host.recv, post_recv(*host.recv, first)).ok());
  Request* const receive = post_recv(*host.recv, place);
  LogCapture log;
  peer.kill(SIGKILL);
  const TimePoint begin = now();
  const Status heard = finish(*host.recv, receive, 5s).status();
  EXPECT_EQ(heard.code(), Code::remote) << heard.message();
  EXPECT_LT(now() - begin, deadline(1s));
  EXPECT_FALSE(log.warnings().empty());
  EXPECT_NE(log.all().find("rail lo: "), std::string::npos) << log.all();
}

// The peer's request is done, so the peer may exit without a GOODBYE.
TEST(Ending, a_peer_that_exits_after_its_last_test_causes_no_error) {
  for (unsigned round = 0; round < 40; ++round) {
    const std::size_t bytes = round % 2 ? 64 : 100'000;
    Forked peer([bytes, round](Wire& wire) {
      return dial_and(wire, loopback(), [bytes, round](Engine&, SendStream& send) {
        const auto data = pattern(bytes, round);
        Request* const request = post_send(send, data);
        const bool ok = finish(send, request).ok();
        _exit(ok ? 0 : 94);
        return 0;
      });
    });
    Host host;
    ASSERT_TRUE(host.welcome(peer));
    std::vector<std::byte> place(bytes);
    const auto received = finish(*host.recv, post_recv(*host.recv, place));
    ASSERT_TRUE(received.ok()) << received.status().message();
    ASSERT_TRUE(place == pattern(bytes, round));
    EXPECT_EQ(peer.wait(), 0);
  }
}

TEST(Ending, streams_outlive_their_engines_owner) {
  auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  a.reset();
  b.reset();
  EXPECT_TRUE(transfer(ends, 500'000, 1));
}

}  // namespace
}  // namespace railweave::engine_test
