// Engines keep memory and descriptors bounded while transfers, streams and engines come and go.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

TEST(Bounds, a_session_of_many_transfers_does_not_grow) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  std::vector<Ends> streams;
  for (int i = 0; i < 16; ++i) {
    streams.push_back(i % 2 ? join(*a, *b) : join(*b, *a));
    ASSERT_TRUE(streams.back());
  }
  const auto round = [&](unsigned seed) {
    for (Ends& ends : streams)
      for (std::size_t bytes : {0u, 100u, 15'000u, 70'000u})
        if (!transfer(ends, bytes, seed)) return false;
    return true;
  };
  for (unsigned i = 0; i < 20; ++i) ASSERT_TRUE(round(i));
  const std::size_t before = resident_bytes();
  for (unsigned i = 0; i < 60; ++i) ASSERT_TRUE(round(i));
  if (!kAsan) {  // asan keeps freed memory
    EXPECT_LT(resident_bytes(), before + 8 * MiB);
  }
}

TEST(Bounds, streams_that_come_and_go_leave_nothing) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Ends kept = join(*a, *b);
  ASSERT_TRUE(kept);
  // Each message is sent before its receive is posted and takes an eager slot of 64 KiB at both ends: one leaked slot
  // per stream would show.
  const auto data = pattern(60'000, 1);
  const auto round = [&](unsigned rounds) {
    for (unsigned i = 0; i < rounds; ++i) {
      Ends ends = join(*a, *b);
      if (!ends) return false;
      if (!finish(*ends.send, post_send(*ends.send, data)).ok()) return false;
      std::vector<std::byte> place(data.size());
      if (!finish(*ends.recv, post_recv(*ends.recv, place)).ok() || place != data) return false;
    }
    return true;
  };
  ASSERT_TRUE(round(50));
  const std::size_t before = resident_bytes();
  const int descriptors = open_descriptors();
  ASSERT_TRUE(round(300));
  if (!kAsan) {  // asan keeps freed memory
    EXPECT_LT(resident_bytes(), before + 12 * MiB);
  }
  EXPECT_LE(open_descriptors(), descriptors);
}

TEST(Bounds, engines_that_come_and_go_leave_nothing) {
  const auto stays = start_engine();
  ASSERT_TRUE(stays);
  const auto visit = [&](unsigned seed) {
    const auto visitor = start_engine();
    if (!visitor) return false;
    Ends ends = join(*visitor, *stays);
    return ends && transfer(ends, 5000, seed);
  };
  for (unsigned i = 0; i < 5; ++i) ASSERT_TRUE(visit(i));
  ASSERT_TRUE(eventually([&] { return stays->stats().sessions.empty(); }, 3s));
  const int descriptors = open_descriptors();
  const std::size_t before = resident_bytes();
  for (unsigned i = 0; i < 40; ++i) ASSERT_TRUE(visit(i));
  EXPECT_TRUE(eventually([&] { return stays->stats().sessions.empty() && open_descriptors() == descriptors; }, 3s))
      << open_descriptors() << " descriptors, before " << descriptors;
  EXPECT_LT(resident_bytes(), before + 12 * MiB);
}

// A sender runs ahead of its receiver by the eager window only; the rest waits in the sender's memory. The number of
// eager slots bounds short messages, their bytes bound longer ones.
TEST(Bounds, unmatched_messages_are_bounded) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  for (const auto& [bytes, most] : {std::pair<std::size_t, std::size_t>{100, 8}, {10'000, 3}}) {
    Ends ends = join(*a, *b);
    ASSERT_TRUE(ends);
    const auto data = pattern(bytes, 1);
    std::vector<Request*> sends;
    while (true) {
      auto request = ends.send->post(data.data(), data.size());
      ASSERT_TRUE(request.ok());
      if (*request == nullptr) break;
      sends.push_back(*request);
    }
    EXPECT_EQ(sends.size(), kRequestsPerStream);
    std::size_t done = 0;
    (void)eventually(
        [&] {
          while (done < sends.size()) {
            auto progress = ends.send->test(sends[done]);
            if (!progress.ok() || !progress->done) break;
            ++done;
          }
          return false;
        },
        300ms);
    EXPECT_GE(done, 1u);
    EXPECT_LE(done, most) << "of " << bytes << " bytes, and the receiver has posted nothing";
    std::vector<std::byte> place(data.size());
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const auto received = finish(*ends.recv, post_recv(*ends.recv, place));
      ASSERT_TRUE(received.ok()) << received.status().message();
      ASSERT_TRUE(place == data);
    }
    for (; done < sends.size(); ++done) ASSERT_TRUE(finish(*ends.send, sends[done]).ok());
  }
}

// The messages are withdrawn while the session has no room for them, and must not be sent once there is room.
TEST(Bounds, a_send_withdrawn_before_the_session_had_room_is_never_read) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  const std::vector<std::byte> early(4096, std::byte{'a'});
  std::vector<std::byte> late(4096, std::byte{'b'});
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(finish(*ends.send, post_send(*ends.send, early)).ok()) << "eager: nobody receives yet";
  std::vector<Request*> sends;
  for (;;) {
    const auto& data = sends.size() < 60 ? early : late;
    auto request = ends.send->post(data.data(), data.size());
    ASSERT_TRUE(request.ok());
    if (!*request) break;
    sends.push_back(*request);
  }
  ASSERT_GT(sends.size(), 60u);
  ends.send->withdraw(late.data(), late.size());
  std::ranges::fill(late, std::byte{'X'});
  EXPECT_EQ(finish(*ends.send, sends.back()).status().code(), Code::cancelled);
  for (std::size_t i = 0; i < 8 + sends.size(); ++i) {
    std::vector<std::byte> place(4096);
    Request* const receive = post_recv(*ends.recv, place);
    const bool came = receive && finish(*ends.recv, receive).ok();
    ASSERT_EQ(std::ranges::count(place, std::byte{'X'}), 0);
    if (!came) return;
  }
  ADD_FAILURE() << "a stream whose memory was withdrawn goes on";
}

TEST(Bounds, a_receive_withdrawn_before_there_was_room_is_never_written) {
  const auto a = start_engine(), b = start_engine();
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  const std::vector<std::byte> data(4096, std::byte{'a'});
  std::vector<std::byte> early(4096), late(4096, std::byte{'b'});
  std::vector<Request*> receives;
  for (;;) {
    std::vector<std::byte>& place = receives.size() < 60 ? early : late;
    auto receive = ends.recv->post(place.data(), place.size());
    ASSERT_TRUE(receive.ok());
    if (!*receive) break;
    receives.push_back(*receive);
  }
  ASSERT_GT(receives.size(), 60u);
  ends.recv->withdraw(late.data(), late.size());
  std::ranges::fill(late, std::byte{'X'});
  EXPECT_EQ(finish(*ends.recv, receives.back()).status().code(), Code::cancelled);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    Request* const send = post_send(*ends.send, data);
    if (!send || !finish(*ends.send, send).ok()) break;
    ASSERT_LT(i + 1, receives.size()) << "a stream whose memory was withdrawn goes on";
  }
  EXPECT_EQ(std::ranges::count(late, std::byte{'X'}), 4096);
}

}  // namespace
}  // namespace railweave::engine_test
