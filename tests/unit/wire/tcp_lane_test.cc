// TcpLane beyond the contract suite: system calls per frame, resets, and zero copy.
#include "wire/tcp/lane.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "tests/unit/wire/counting_handler.h"
#include "tests/unit/wire/tcp_pair.h"

namespace railweave::wire {
namespace {

// Returns true if a reset arrives in time, even if there are bytes to read.
bool broken(int fd, int timeout_ms) {
  pollfd p{fd, 0, 0};
  return ::poll(&p, 1, timeout_ms) == 1 && (p.revents & POLLERR);
}

class TcpLaneTest : public ::testing::Test {
 protected:
  explicit TcpLaneTest(const TcpLaneOptions& options = {}) {
    auto [a, b] = tcp_pair();
    near = std::make_unique<TcpLane>(std::move(a), "rail0", options);
    far = std::make_unique<TcpLane>(std::move(b), "rail0", options);
  }

  void write_all() {
    while (!out.to_send.empty() || !near->at_frame_boundary()) {
      const auto moved = near->write(out);
      ASSERT_TRUE(moved.ok() && !moved.value().blocked);
    }
  }
  // Reads at `far` until `frames` frames have arrived or the lane has ended.
  Status read_until(std::size_t frames) {
    while (in.arrived < frames) {
      if (!readable(far->descriptor(), 5000)) return Status(Code::timed_out, Scope::lane, "nothing came");
      if (auto moved = far->read(in, 1 * MiB); !moved.ok()) return moved.status();
    }
    return Status();
  }

  std::unique_ptr<TcpLane> near, far;
  CountingHandler out, in;
};

TEST_F(TcpLaneTest, a_small_frame_costs_one_call_at_each_end) {
  for (int i = 0; i < 10; ++i) {
    out.to_send = {512};
    write_all();
    ASSERT_TRUE(read_until(std::size_t(i) + 1).ok());
  }
  EXPECT_EQ(near->stats().write_calls, 10u);
  EXPECT_EQ(far->stats().read_calls, 10u);
}

// A copy into inaccessible memory fails if the kernel makes it, and raises a signal if this process makes it.
class TcpLaneTarget : public TcpLaneTest {
 protected:
  enum class End { read, failed, faulted };

  End read_there(bool read_while_landing) {
    constexpr std::size_t kBytes = 64 * KiB;
    void* const half = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(half, MAP_FAILED);
    // Bytes that arrive together with the header are in the read-ahead, so only the second half is inaccessible.
    EXPECT_EQ(::mprotect(static_cast<std::byte*>(half) + kBytes / 2, kBytes / 2, PROT_NONE), 0);
    out.to_send = {kBytes};
    write_all();
    in.answer = Target{{static_cast<std::byte*>(half), kBytes}, read_while_landing};
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGSEGV, [](int) { ::_exit(int(End::faulted)); });
      ::_exit(int(read_until(1).ok() ? End::read : End::failed));
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    ::munmap(half, kBytes);
    return End(WEXITSTATUS(status));
  }
};

TEST_F(TcpLaneTarget, the_kernel_writes_to_a_target) { EXPECT_EQ(read_there(false), End::failed); }
TEST_F(TcpLaneTarget, the_kernel_never_writes_to_what_is_read_while_landing) {
  EXPECT_EQ(read_there(true), End::faulted);
}

TEST_F(TcpLaneTest, many_small_frames_share_calls) {
  out.to_send.assign(160, 16);
  write_all();
  ASSERT_TRUE(read_until(160).ok());
  EXPECT_EQ(near->stats().write_calls, 10u);
  EXPECT_LE(far->stats().read_calls, 10u);
}

TEST_F(TcpLaneTest, large_frames_cost_about_one_read_each) {
  const int all_of_it = 4 * MiB;
  ASSERT_EQ(::setsockopt(far->descriptor(), SOL_SOCKET, SO_RCVBUF, &all_of_it, sizeof all_of_it), 0);
  out.to_send.assign(10, 64 * KiB);
  write_all();
  ::usleep(20'000);  // until all has arrived; on a busy machine a few reads are too early
  ASSERT_TRUE(read_until(10).ok());
  EXPECT_LE(far->stats().read_calls, 20u);
}

TEST_F(TcpLaneTest, the_end_goes_with_the_last_byte) {
  const int room = 8 * MiB;
  ASSERT_EQ(::setsockopt(near->descriptor(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room), 0);
  out.to_send.assign(8, 256 * KiB);
  ASSERT_TRUE(near->write(out).ok());
  ASSERT_FALSE(near->at_frame_boundary()) << "a write has its measure";
  ASSERT_TRUE(near->finish_writing().ok());
  for (int i = 0; i < 5000 && !near->at_frame_boundary(); ++i) {
    ASSERT_TRUE(far->read(in, 1 * MiB).ok());
    ASSERT_TRUE(near->write(out).ok());
  }
  EXPECT_EQ(read_until(9).code(), Code::remote);
  EXPECT_EQ(in.arrived, 8u);
}

TEST_F(TcpLaneTest, a_reset_comes_after_what_the_kernel_held) {
  out.to_send.assign(5, 1000);
  write_all();
  CountingHandler back;
  back.to_send = {100};
  ASSERT_TRUE(far->write(back).ok());
  ASSERT_TRUE(readable(near->descriptor(), 5000));
  near.reset();  // unread input makes the close a reset
  ASSERT_TRUE(broken(far->descriptor(), 5000));
  const Status why = read_until(6);
  EXPECT_EQ(in.arrived, 5u);
  EXPECT_EQ(why.code(), Code::remote);
  EXPECT_EQ(why.system_errno(), ECONNRESET);
  for (const char* part : {"rail0", "127.0.0.1:", "reset by the peer"})
    EXPECT_NE(why.message().find(part), std::string::npos) << why.message();
}

TEST_F(TcpLaneTest, a_reset_met_by_write_is_returned_by_read_with_its_cause) {
  out.to_send.assign(5, 1000);
  write_all();
  CountingHandler back;
  back.to_send = {100};
  ASSERT_TRUE(far->write(back).ok());
  ASSERT_TRUE(readable(near->descriptor(), 5000));
  near.reset();
  ASSERT_TRUE(broken(far->descriptor(), 5000));
  back.to_send = {100};
  const auto written = far->write(back);
  ASSERT_TRUE(written.ok());
  EXPECT_TRUE(written.value().blocked);
  const Status why = read_until(6);
  EXPECT_EQ(in.arrived, 5u);
  EXPECT_EQ(why.code(), Code::remote);
  EXPECT_NE(why.system_errno(), 0);
}

TEST_F(TcpLaneTest, an_end_inside_a_frame_says_so) {
  const std::uint32_t size = 1000;
  std::byte bytes[kHeaderBytes + 10] = {};
  std::memcpy(bytes, &size, sizeof size);
  ASSERT_EQ(::send(near->descriptor(), bytes, sizeof bytes, 0), ssize_t(sizeof bytes));
  near.reset();
  const Status why = read_until(1);
  EXPECT_NE(why.message().find("middle of a frame"), std::string::npos) << why.message();
}

TEST_F(TcpLaneTest, min_rtt_and_rate_come_from_the_kernel) {
  out.to_send.assign(20, 64 * KiB);
  write_all();
  ASSERT_TRUE(read_until(20).ok());
  EXPECT_GT(near->health().min_rtt, Nanos(0));
  EXPECT_LT(near->health().min_rtt, std::chrono::seconds(1));
  EXPECT_GT(near->stats().rate.bytes_per_s, 0);
}

// The peer's kernel ignores one of the first two window probes, because they arrive within half a second.
TEST_F(TcpLaneTest, a_peer_that_takes_nothing_is_not_silent) {
  using namespace std::chrono_literals;
  out.to_send.assign(8, 4 * MiB);
  const auto sample_for = [&](Nanos time, auto&& see) {
    for (const TimePoint end = now() + time; now() < end; std::this_thread::sleep_for(10ms)) {
      ASSERT_TRUE(near->write(out).ok());
      see(near->ack_status());
    }
  };
  sample_for(100ms, [](const AckStatus&) {});  // the window shuts
  const TimePoint shut_at = now();
  TimePoint heard_at{};
  sample_for(2s, [&](const AckStatus& h) {
    EXPECT_FALSE(h.silent_since) << (now() - shut_at) / 1ms << " ms after the window shut, of an answer "
                                 << (now() - h.heard_at) / 1ms << " ms ago";
    heard_at = h.heard_at;
  });
  ASSERT_GT(near->health().outstanding_bytes, 0u) << "all of it went into buffers: nothing was waited for";
  EXPECT_GT(heard_at, shut_at) << "no probe was answered";
}

class ZeroCopyLane : public TcpLaneTest {
 protected:
  ZeroCopyLane() : TcpLaneTest(TcpLaneOptions{16 * KiB, Rate{}}) {}
};

TEST_F(ZeroCopyLane, frames_are_released_by_notice_and_in_order) {
  for (int i = 0; i < 100; ++i) {
    out.to_send = {32 * KiB, 100, 0};
    write_all();
    ASSERT_TRUE(read_until(std::size_t(i) * 3 + 3).ok());
  }
  // Loopback copies, so the lane stops using zero copy. Frames that were sent with zero copy are still released.
  for (int i = 0; i < 100 && out.freed < 300; ++i) {
    ::usleep(1000);
    ASSERT_TRUE(near->write(out).ok());
  }
  EXPECT_EQ(out.freed, 300u);
}

TEST_F(ZeroCopyLane, memory_that_the_kernel_holds_is_given_back_by_closing) {
  out.to_send.assign(8, 4 * MiB);
  ASSERT_TRUE(near->write(out).ok());
  while (near->write(out).value().bytes > 0) {
  }
  ASSERT_LT(out.sent, 8u) << "all of it went into buffers";
  std::vector<std::byte> other(4096);
  EXPECT_TRUE(near->withdraw_payload(other));
  ASSERT_FALSE(near->withdraw_payload(out.memory()));
  near.reset();
  std::ranges::fill(out.memory(), std::byte{0xee});  // as if its owner reused it by now
  std::vector<std::byte> place(4 * MiB);
  in.answer = Target{place, false};
  for (;;) {
    if (!readable(far->descriptor(), 5000)) FAIL() << "neither bytes nor an end";
    if (!far->read(in, 1 * MiB).ok()) break;
  }
  EXPECT_EQ(std::ranges::find(place, std::byte{0xee}), place.end());
}

}  // namespace
}  // namespace railweave::wire
