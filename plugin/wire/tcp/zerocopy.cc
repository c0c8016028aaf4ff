#include "wire/tcp/zerocopy.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace railweave::wire {
namespace {

bool is_notice(const cmsghdr& c, const sock_extended_err& error) {
  const bool by_ip = (c.cmsg_level == SOL_IP && c.cmsg_type == IP_RECVERR) ||
                     (c.cmsg_level == SOL_IPV6 && c.cmsg_type == IPV6_RECVERR);
  return by_ip && error.ee_origin == SO_EE_ORIGIN_ZEROCOPY && error.ee_errno == 0;
}

}  // namespace

ZeroCopy::ZeroCopy(int fd) {
  const int on = 1;
  worthwhile_ = ::setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) == 0;
}

bool ZeroCopy::next_notice(int fd, ZeroCopyNotice& notice) {
  alignas(cmsghdr) char control[256];
  msghdr message{};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    sock_extended_err error;
    if (c->cmsg_len < CMSG_LEN(sizeof error)) continue;
    std::memcpy(&error, CMSG_DATA(c), sizeof error);
    if (!is_notice(*c, error)) continue;
    notice = {error.ee_info, error.ee_data};
    copied_in_a_row_ = error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED ? copied_in_a_row_ + 1 : 0;
    if (copied_in_a_row_ >= kCopiedMost) worthwhile_ = false;
    return true;
  }
  return false;
}

}  // namespace railweave::wire
