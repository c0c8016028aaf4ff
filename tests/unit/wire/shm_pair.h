// Two ends of a shm lane in one process.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "wire/shm/lane.h"

namespace railweave::wire {

struct ShmPair {
  shm::SharedObject spy;  // a third mapping, for tests that write into it
  std::unique_ptr<ShmLane> near, far;

  explicit ShmPair(const ShmLaneOptions& options = {}) {
    int sockets[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
    auto made = shm::SharedObject::make();
    EXPECT_TRUE(made.ok()) << made.status().message();
    auto taken = shm::SharedObject::adopt(OwnedFd(::dup(made->fd())));
    EXPECT_TRUE(taken.ok()) << taken.status().message();
    spy = std::move(*shm::SharedObject::adopt(OwnedFd(::dup(made->fd()))));
    near = std::make_unique<ShmLane>(OwnedFd(sockets[0]), std::move(*made), ShmLane::End::maker, options);
    far = std::make_unique<ShmLane>(OwnedFd(sockets[1]), std::move(*taken), ShmLane::End::taker, options);
  }
};

}  // namespace railweave::wire
