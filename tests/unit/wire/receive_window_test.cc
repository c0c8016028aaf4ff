// ReceiveWindow with the real kernel: how many bytes a connection's sender may have in flight.
#include "wire/tcp/receive_window.h"

#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <tuple>
#include <utility>
#include <vector>

#include "railweave/units.h"
#include "tests/unit/wire/tcp_pair.h"

namespace railweave::wire {
namespace {

constexpr int kPacket = 1448;  // loopback's own are of 64 KiB
constexpr std::size_t kPiece = 3000;
constexpr std::uint64_t kBound = 16 * KiB;
constexpr std::uint64_t kStep = 4 * KiB;  // TCP advertises windows in steps: of 1 KiB where tcp_rmem allows 33 MB

class ReceiveWindowTest : public testing::Test {
 protected:
  ReceiveWindowTest() {
    auto [a, b] = tcp_pair({}, kPacket);
    sender_ = std::move(a), receiver_ = std::move(b);
  }

  // Sends `bytes` bytes piece by piece, and reads them.
  void carry(std::size_t bytes, std::size_t piece = kPiece) {
    std::vector<char> data(piece);
    for (std::size_t sent = 0; sent < bytes; sent += piece) {
      ASSERT_EQ(::send(sender_.get(), data.data(), piece, MSG_NOSIGNAL), ssize_t(piece));
      for (std::size_t got = 0; got < piece;) {
        ASSERT_TRUE(readable(receiver_.get(), 5000));
        got += std::size_t(::recv(receiver_.get(), data.data(), piece - got, 0));
      }
      received_ += piece;
    }
  }
  bool bound(std::uint64_t bytes) { return window_.bound(receiver_.get(), bytes, received_); }
  // Returns how many bytes the sender's kernel may have in flight.
  std::uint64_t allowed() const {
    tcp_info info{};
    socklen_t size = sizeof info;
    EXPECT_EQ(::getsockopt(sender_.get(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return info.tcpi_snd_wnd;
  }
  int clamp() const {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(receiver_.get(), IPPROTO_TCP, TCP_WINDOW_CLAMP, &value, &size), 0);
    return value;
  }
  // Carries bytes until the bound holds. Returns how many arrived meanwhile.
  std::uint64_t settle(std::uint64_t bytes) {
    const std::uint64_t from = received_;
    while (!bound(bytes) && received_ < from + 64 * MiB) carry(kPiece);
    return received_ - from;
  }

  OwnedFd sender_, receiver_;
  ReceiveWindow window_;
  std::uint64_t received_ = 0;
};

TEST_F(ReceiveWindowTest, bound__holds_once_the_former_allowance_is_used_up) {
  const std::uint64_t before = allowed();
  EXPECT_GT(before, 3 * kBound);
  EXPECT_FALSE(bound(kBound)) << "the kernel takes nothing back";
  EXPECT_GE(settle(kBound), before - kBound - kStep);
  EXPECT_LE(allowed(), kBound + kStep);
  carry(1 * MiB);
  EXPECT_TRUE(bound(kBound));
}

TEST_F(ReceiveWindowTest, bound__that_is_lowered_holds_once_the_larger_one_is_used_up) {
  settle(32 * KiB);
  EXPECT_FALSE(bound(kBound));
  EXPECT_GE(settle(kBound), 16 * KiB - kStep);
  EXPECT_LE(allowed(), kBound + kStep);
  EXPECT_TRUE(bound(2 * kBound)) << "a larger one holds at once";
}

TEST_F(ReceiveWindowTest, bound__any_leaves_the_window_to_the_kernel) {
  settle(kBound);
  EXPECT_FALSE(bound(ReceiveWindow::kAny));
  carry(256 * KiB);
  EXPECT_GT(allowed(), 4 * kBound);
}

// The test sets the clamp as Linux does when it enlarges the receive buffer (tcp_rcvbuf_grow).
TEST_F(ReceiveWindowTest, bound__is_set_again_where_the_kernel_set_it_aside) {
  settle(kBound);
  const int larger = 1 << 20;
  ASSERT_EQ(::setsockopt(receiver_.get(), IPPROTO_TCP, TCP_WINDOW_CLAMP, &larger, sizeof larger), 0);
  EXPECT_TRUE(bound(kBound));
  EXPECT_EQ(clamp(), int(kBound));
}

TEST_F(ReceiveWindowTest, bound__is_four_packets_at_least) {
  constexpr int kJumbo = 16'384;
  std::tie(sender_, receiver_) = tcp_pair({}, kJumbo);
  (void)bound(kBound);
  EXPECT_NEAR(clamp(), 4 * kJumbo, 4 * 40) << "though none has come yet; a packet has options";
}

TEST_F(ReceiveWindowTest, bound__of_a_closed_descriptor_does_not_hold) {
  receiver_.reset();
  EXPECT_FALSE(window_.bound(-1, kBound, 1 * MiB));
}

}  // namespace
}  // namespace railweave::wire
