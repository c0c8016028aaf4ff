#include "wire/message/peer_socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "wire/bootstrap/address.h"
#include "wire/bootstrap/lane_end.h"
#include "wire/bootstrap/socket.h"

namespace railweave::wire::message {
namespace {

// Either byte may be the first to arrive.
constexpr char kReady = 'R', kAsk = 'A';
// Packets that may be unanswered. A lane counts as silent when LaneAcks::kUnansweredLeast are.
constexpr std::uint32_t kAsksMost = 2 * LaneAcks::kUnansweredLeast;
// System calls of one read(). A peer that sends without end must not hold the thread.
constexpr int kReadsMost = 16;

bool send_byte(int fd, char byte) { return ::send(fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1; }

}  // namespace

PeerSocket::PeerSocket(OwnedFd socket)
    : socket_(std::move(socket)),
      local_(to_string(local_address(socket_.get()))),
      remote_(to_string(remote_address(socket_.get()))) {}

bool PeerSocket::send_ready() { return send_byte(descriptor(), kReady); }

void PeerSocket::read() {
  std::array<char, 64> bytes;
  for (int reads = 0; reads < kReadsMost && !ended_; ++reads) {
    const ssize_t n = ::recv(descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      ended_ = n == 0 ? LaneEnd::closed : lane_end_of(errno);
      return;
    }
    for (ssize_t i = 0; i < n; ++i) is_peer_ready_ |= bytes[std::size_t(i)] == kReady;
    if (std::size_t(n) < bytes.size()) return;
  }
}

AckStatus PeerSocket::ack_status(TimePoint now, bool owes) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(descriptor(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  // A full socket is no error: then bytes are unacknowledged, too.
  if (owes && info.tcpi_unacked < kAsksMost) (void)send_byte(descriptor(), kAsk);
  return acks_.observe(now, info);
}

}  // namespace railweave::wire::message
