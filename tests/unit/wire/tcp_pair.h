// Two connected sockets over loopback, made by the code under test.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <utility>

#include "wire/bootstrap/socket.h"

namespace railweave::wire {

inline Address loopback_address() {
  Address a;
  a.bytes = {127, 0, 0, 1};
  return a;
}

inline bool readable(int fd, int timeout_ms) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, timeout_ms) == 1;
}

// TCP_MAXSEG, whose two headers, linux/tcp.h and netinet/tcp.h, cannot be included together
inline constexpr int kLargestPacket = 2;

// `packet_bytes`: the largest packet that the second socket accepts; 0: loopback's own, 64 KiB.
inline std::pair<OwnedFd, OwnedFd> tcp_pair(const SocketOptions& options = {}, int packet_bytes = 0) {
  auto listening = listen_at(loopback_address(), PortRange{}, options);
  EXPECT_TRUE(listening.ok());
  if (packet_bytes > 0) {
    EXPECT_EQ(::setsockopt(listening->fd.get(), IPPROTO_TCP, kLargestPacket, &packet_bytes, sizeof packet_bytes), 0);
  }
  auto dialled = dial({loopback_address(), "lo", listening->address, options});
  EXPECT_TRUE(dialled.ok()) << dialled.status().message();
  EXPECT_TRUE(readable(listening->fd.get(), 5000));
  auto accepted = accept_from(listening->fd.get());
  EXPECT_TRUE(accepted.ok());
  return {std::move(*dialled), std::move(accepted->fd)};
}

}  // namespace railweave::wire
