#include "discovery/netlink.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace railweave::discovery {
namespace {

constexpr int kTriesMax = 5;  // on hosts that create containers all the time, changes interrupt dumps often

enum class Dump { complete, torn };

template <class T>
bool read_as(Bytes from, T& to) {
  if (from.size() < sizeof(T)) return false;
  std::memcpy(&to, from.data(), sizeof(T));
  return true;
}

// Sends a request on a new socket. Returns the socket, which receives the answer.
Result<OwnedFd> ask(int type, int flags, Bytes body) {
  OwnedFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd) return system_error(Scope::engine, "socket(AF_NETLINK)");
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + body.size());
  header.nlmsg_type = static_cast<std::uint16_t>(type);
  header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  header.nlmsg_seq = 1;
  std::vector<std::byte> request(NLMSG_HDRLEN);
  std::memcpy(request.data(), &header, sizeof(header));
  request.insert(request.end(), body.begin(), body.end());
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const auto* to = reinterpret_cast<const sockaddr*>(&kernel);
  if (::sendto(fd.get(), request.data(), request.size(), 0, to, sizeof(kernel)) < 0) {
    return system_error(Scope::engine, "sendto(netlink)");
  }
  return fd;
}

// Reads one whole datagram of any size.
Result<std::vector<std::byte>> receive(int fd) {
  ssize_t n;
  do n = ::recv(fd, nullptr, 0, MSG_PEEK | MSG_TRUNC);
  while (n < 0 && errno == EINTR);
  if (n < 0) return system_error(Scope::engine, "recv(netlink)");
  std::vector<std::byte> datagram(static_cast<std::size_t>(n));
  do n = ::recv(fd, datagram.data(), datagram.size(), 0);
  while (n < 0 && errno == EINTR);
  if (n < 0) return system_error(Scope::engine, "recv(netlink)");
  datagram.resize(static_cast<std::size_t>(n));
  return datagram;
}

Result<Dump> dump_once(int type, int answer, const std::function<void(Bytes)>& each) {
  const rtgenmsg any_family{AF_UNSPEC};
  RW_ASSIGN_OR_RETURN(const OwnedFd fd, ask(type, NLM_F_DUMP, std::as_bytes(std::span(&any_family, 1))));
  bool torn = false;
  for (;;) {
    RW_ASSIGN_OR_RETURN(const std::vector<std::byte> datagram, receive(fd.get()));
    if (datagram.empty()) return Status(Code::system, Scope::engine, "netlink's list ended before its last message");
    std::optional<Result<Dump>> over;
    for_each_message(datagram, [&](const nlmsghdr& header, Bytes body) {
      torn |= (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
      if (nlmsgerr error; header.nlmsg_type == NLMSG_ERROR && read_as(body, error)) {
        over = system_error(Scope::engine, "netlink dump", -error.error);
      } else if (header.nlmsg_type == NLMSG_DONE) {
        over = torn ? Dump::torn : Dump::complete;
      } else if (header.nlmsg_type == answer) {
        each(body);
      }
      return !over;
    });
    if (over) return std::move(*over);
  }
}

// Bounds every wait for an answer on `fd`.
Status set_patience(int fd, Nanos patience) {
  timeval time{};
  time.tv_usec = std::chrono::duration_cast<std::chrono::microseconds>(patience).count();
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0) return Status();
  return system_error(Scope::engine, "setsockopt(SO_RCVTIMEO)");
}

}  // namespace

Result<NetlinkAnswer> netlink_ask(int type, Bytes body) {
  RW_ASSIGN_OR_RETURN(const OwnedFd fd, ask(type, 0, body));
  RW_TRY(set_patience(fd.get(), kNetlinkPatience));
  RW_ASSIGN_OR_RETURN(const std::vector<std::byte> datagram, receive(fd.get()));
  std::optional<NetlinkAnswer> answer;
  for_each_message(datagram, [&](const nlmsghdr& header, Bytes message) {
    answer.emplace();
    if (nlmsgerr error; header.nlmsg_type == NLMSG_ERROR && read_as(message, error))
      answer->error = -error.error;
    else
      answer->body.assign(message.begin(), message.end());
    return false;
  });
  if (!answer) return Status(Code::system, Scope::engine, "netlink sent an answer without a message");
  return std::move(*answer);
}

void add_attribute(std::vector<std::byte>& body, int type, Bytes value) {
  rtattr header{};
  header.rta_len = static_cast<unsigned short>(RTA_LENGTH(value.size()));
  header.rta_type = static_cast<unsigned short>(type);
  const std::size_t start = body.size();
  body.resize(start + RTA_SPACE(value.size()));
  std::memcpy(body.data() + start, &header, sizeof(header));
  if (!value.empty()) std::memcpy(body.data() + start + sizeof(header), value.data(), value.size());
}

Status netlink_dump(int type, int answer, const std::function<void()>& restart,
                    const std::function<void(Bytes)>& each) {
  for (int attempt = 0; attempt < kTriesMax; ++attempt) {
    restart();
    RW_ASSIGN_OR_RETURN(const Dump dump, dump_once(type, answer, each));
    if (dump == Dump::complete) break;  // the last try counts even if torn: one missing entry is better than no list
  }
  return Status();
}

void for_each_message(Bytes datagram, const std::function<bool(const nlmsghdr& header, Bytes body)>& each) {
  nlmsghdr header;
  while (read_as(datagram, header) && header.nlmsg_len >= NLMSG_HDRLEN && header.nlmsg_len <= datagram.size()) {
    if (!each(header, datagram.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN))) return;
    datagram = datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), datagram.size()));
  }
}

void for_each_attribute(Bytes body, std::size_t skip, const std::function<void(int type, Bytes value)>& each) {
  skip = NLMSG_ALIGN(skip);
  if (body.size() < skip) return;
  Bytes rest = body.subspan(skip);
  rtattr header;
  while (read_as(rest, header) && header.rta_len >= sizeof(rtattr) && header.rta_len <= rest.size()) {
    each(header.rta_type & NLA_TYPE_MASK, rest.subspan(sizeof(rtattr), header.rta_len - sizeof(rtattr)));
    rest = rest.subspan(std::min<std::size_t>(RTA_ALIGN(header.rta_len), rest.size()));
  }
}

std::optional<std::uint32_t> attribute_u32(Bytes value) {
  std::uint32_t number;
  if (!read_as(value, number)) return std::nullopt;
  return number;
}

}  // namespace railweave::discovery
