#include "wire/tcp/receive_window.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

namespace railweave::wire {
namespace {

constexpr std::uint64_t kLargest = 1 << 30;  // bytes; TCP has no larger window
// windows; the kernel rounds up, so a window has shrunk only after this many times its bytes arrived
constexpr std::uint64_t kStepsMost = 2;

bool clamp_window(int fd, std::uint64_t bytes) {
  const int value = int(std::min(bytes, kLargest));
  return ::setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &value, sizeof value) == 0;
}

// Returns the bytes of the receive buffer, which bound the advertised window.
std::uint64_t receive_buffer(int fd) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  return ::getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size) == 0 && bytes > 0 ? std::uint64_t(bytes) : kLargest;
}

}  // namespace

struct ReceiveWindow::Info {
  tcp_info tcp{};
  std::optional<std::uint32_t> window;  // bytes advertised last; none before Linux 6.2
};

// Reads TCP_INFO. The build's header may lack tcpi_rcv_wnd, so this field is read by its offset behind tcpi_snd_wnd.
std::optional<ReceiveWindow::Info> ReceiveWindow::ask(int fd) {
  std::array<std::byte, 512> said{};
  socklen_t size = said.size();
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, said.data(), &size) != 0) return {};
  Info info;
  std::memcpy(&info.tcp, said.data(), sizeof info.tcp);
  constexpr std::size_t kAt = offsetof(tcp_info, tcpi_snd_wnd) + sizeof(std::uint32_t);
  std::uint32_t window = 0;
  std::memcpy(&window, said.data() + kAt, sizeof window);
  if (size >= kAt + sizeof window) info.window = window;
  return info;
}

bool ReceiveWindow::bound(int fd, std::uint64_t bytes, std::uint64_t received_bytes) {
  if (bytes == kAny) {
    if (bytes_ != kAny) (void)clamp_window(fd, kLargest);
    bytes_ = kAny;
    return holds_ = false;
  }
  if (bytes < bytes_) {
    open_until_ = std::max(open_until_, received_bytes + kStepsMost * (bytes_ == kAny ? receive_buffer(fd) : bytes_));
    holds_ = false;
  }
  const bool is_new = bytes != bytes_;
  bytes_ = bytes;
  if (is_new || !holds_) {
    const std::optional<Info> info = ask(fd);
    if (!info) return false;
    // Packets count with the largest size that this host allows, because the kernel learns their real size only as they
    // arrive. A peer with full packets for a smaller window waits for a timer (RFC 9293, 3.8.6.2.1).
    clamp_ = std::max(bytes, kPacketsLeast * std::max(info->tcp.tcpi_rcv_mss, info->tcp.tcpi_advmss));
    holds_ = holds_ || holds(*info, received_bytes);
  }
  return clamp_window(fd, clamp_) && holds_;
}

bool ReceiveWindow::holds(const Info& info, std::uint64_t received_bytes) const {
  if (info.tcp.tcpi_rcv_ssthresh > clamp_) return false;
  return info.window ? *info.window <= clamp_ + (1u << info.tcp.tcpi_rcv_wscale) : received_bytes >= open_until_;
}

}  // namespace railweave::wire
