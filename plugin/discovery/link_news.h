// What the kernel tells, unasked, about links of this network namespace (rtnetlink(7), RTMGRP_LINK).
//
// Threads: one. Never waits.
#pragma once

#include <utility>
#include <vector>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave::discovery {

struct LinkState {
  int ifindex = 0;
  bool running = false;  // up, with carrier, and there
};

class LinkNews {
 public:
  // Errors: system.
  static Result<LinkNews> open();

  // Readable when there is news.
  int descriptor() const { return fd_.get(); }
  // What came since the last call, oldest first; where the kernel had to drop some, what all links are now. Errors: system.
  Result<std::vector<LinkState>> read();

 private:
  explicit LinkNews(OwnedFd fd) : fd_(std::move(fd)) {}

  OwnedFd fd_;
};

}  // namespace railweave::discovery
