// Two connected sockets over loopback, made by the code under test.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

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

inline std::pair<OwnedFd, OwnedFd> tcp_pair(const SocketOptions& options = {}) {
  auto listening = listen_at(loopback_address(), PortRange{}, options);
  EXPECT_TRUE(listening.ok());
  auto dialled = dial({loopback_address(), "lo", listening->address, options});
  EXPECT_TRUE(dialled.ok()) << dialled.status().message();
  EXPECT_TRUE(readable(listening->fd.get(), 5000));
  auto accepted = accept_from(listening->fd.get());
  EXPECT_TRUE(accepted.ok());
  return {std::move(*dialled), std::move(accepted->fd)};
}

}  // namespace railweave::wire
