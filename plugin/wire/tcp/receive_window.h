// How much the peer's kernel may have under way to us: TCP's own receive window, bounded by TCP_WINDOW_CLAMP (tcp(7)).
//
// The kernel never takes back what it allowed (RFC 9293, 3.8.6.2.1), so a smaller bound holds only once all of that has
// come. Two things more, from Linux's tcp_input.c and tcp.c: a kernel that enlarges a socket's buffer sets the bound
// aside, so the bound is set again at each call; and a kernel before 5.13 does not bound a window that grew before,
// which shows in tcpi_rcv_ssthresh: bound() says false there.
//
// Threads: the lane's.
#pragma once

#include <cstdint>
#include <optional>

namespace railweave::wire {

class ReceiveWindow {
 public:
  static constexpr std::uint64_t kAny = ~std::uint64_t{0};
  // a window of fewer packets waits for acknowledgements that are held back
  static constexpr std::uint64_t kPacketsLeast = 4;

  // The bound from now on is `bytes`, or `kPacketsLeast` packets where that is more; kAny: the kernel's own choice.
  // `received_bytes`: of the connection, ever.
  // True: the bound holds. One short system call, a few more where `bytes` is new or does not hold yet; none where it
  // is kAny and was kAny before.
  bool bound(int fd, std::uint64_t bytes, std::uint64_t received_bytes);

 private:
  struct Info;
  static std::optional<Info> ask(int fd);
  bool holds(const Info& info, std::uint64_t received_bytes) const;

  std::uint64_t bytes_ = kAny;  // as bound() was told
  std::uint64_t clamp_ = 0;     // what the kernel is told for that
  // where the kernel does not say what it allows: when all of what it allowed before has come
  std::uint64_t open_until_ = 0;
  bool holds_ = false;
};

}  // namespace railweave::wire
