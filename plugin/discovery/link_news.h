// LinkNews: the kernel's notifications about links and addresses of this network namespace (rtnetlink(7), RTMGRP_LINK,
// RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR).
//
// Threads: one. No call waits for a notification.
#pragma once

#include <utility>
#include <vector>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave::discovery {

struct LinkState {
  int ifindex = 0;
  bool running = false;  // exists, is up and has carrier
  bool gone = false;     // the link was deleted; another link may get its index
};

struct News {
  std::vector<LinkState> links;  // oldest first
  bool addresses = false;        // an address was added or removed
};

class LinkNews {
 public:
  // Errors: system.
  static Result<LinkNews> open();

  // The descriptor is readable when there are notifications. It belongs to this object.
  int descriptor() const { return fd_.get(); }
  // Returns the notifications since the last call. If the kernel dropped some: the present state of all links, with
  // `addresses` set; deleted links are then missing and not `gone`. Errors: system.
  Result<News> read();

 private:
  explicit LinkNews(OwnedFd fd) : fd_(std::move(fd)) {}

  OwnedFd fd_;
};

}  // namespace railweave::discovery
