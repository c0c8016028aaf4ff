// ReceiveWindow bounds the bytes that the peer's kernel may have in flight to this host. The bound is TCP's receive
// window with TCP_WINDOW_CLAMP (tcp(7)).
//
// The kernel never shrinks a window that it advertised (RFC 9293, 3.8.6.2.1). A smaller bound therefore holds only once
// all bytes allowed before have arrived. Linux has two more rules (tcp_input.c, tcp.c). A kernel that enlarges the
// socket's buffer drops the bound, so each call sets the bound again. A kernel before 5.13 does not bound a window that
// grew before; tcpi_rcv_ssthresh shows this case, and bound() returns false.
//
// Threads: the lane's.
#pragma once

#include <cstdint>
#include <optional>

namespace railweave::wire {

class ReceiveWindow {
 public:
  static constexpr std::uint64_t kAny = ~std::uint64_t{0};
  // packets; a smaller window would wait for delayed acknowledgements
  static constexpr std::uint64_t kPacketsLeast = 4;

  // Sets the bound to `bytes`, or to `kPacketsLeast` packets if larger; kAny: the kernel's own choice.
  // `received_bytes`: received since the connection began. Returns true if the bound holds, for kAny false.
  // Costs one short system call, and a few more if `bytes` is new or does not hold yet. Repeated kAny costs none.
  bool bound(int fd, std::uint64_t bytes, std::uint64_t received_bytes);

 private:
  struct Info;
  static std::optional<Info> ask(int fd);
  bool holds(const Info& info, std::uint64_t received_bytes) const;

  std::uint64_t bytes_ = kAny;  // the bound of the last call
  std::uint64_t clamp_ = 0;     // the TCP_WINDOW_CLAMP for this bound, bytes
  // received bytes at which all that the kernel allowed before has arrived; for kernels that do not report the window
  std::uint64_t open_until_ = 0;
  bool holds_ = false;  // the bound holds
};

}  // namespace railweave::wire
