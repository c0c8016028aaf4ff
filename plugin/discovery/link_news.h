// What the kernel tells, unasked, about links and addresses of this network namespace (rtnetlink(7), RTMGRP_LINK,
// RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR).
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
  bool gone = false;     // another may have the index from now on
};

struct News {
  std::vector<LinkState> links;
  bool addresses = false;  // some came or went
};

class LinkNews {
 public:
  // Errors: system.
  static Result<LinkNews> open();

  // Readable when there is news.
  int descriptor() const { return fd_.get(); }
  // What came since the last call, oldest first; where the kernel had to drop some, what all links are now. Errors:
  // system.
  Result<News> read();

 private:
  explicit LinkNews(OwnedFd fd) : fd_(std::move(fd)) {}

  OwnedFd fd_;
};

}  // namespace railweave::discovery
