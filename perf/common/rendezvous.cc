#include "common/rendezvous.h"

#include <errno.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace railweave::perf {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::uint32_t kMessageBytesMax = 256u << 20;
constexpr int kRetryEveryMs = 20;

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> resolve(const std::string& address, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status(Code::invalid_argument, Scope::engine,
                  "rendezvous address '" + address + "': " + ::gai_strerror(error));
  }
  return AddressList(found, &::freeaddrinfo);
}

bool readable_within(int fd, Nanos patience) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, int(patience / std::chrono::milliseconds(1))) > 0;
}

// Where and how long ranks look for each other.
struct Meeting {
  std::string address;
  std::uint16_t port;
  Nanos patience;
  TimePoint give_up;
  std::string place;  // for messages
};

std::string seconds_text(Nanos patience) { return fmt::format("{:g} s", double(patience.count()) / 1e9); }

Result<OwnedFd> accept_one(const Meeting& meeting) {
  RW_ASSIGN_OR_RETURN(const AddressList where, resolve(meeting.address, meeting.port, AI_PASSIVE));
  OwnedFd listener(::socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) return system_error(Scope::engine, "socket");
  const int one = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(listener.get(), where->ai_addr, where->ai_addrlen) != 0 || ::listen(listener.get(), 1) != 0) {
    return system_error(Scope::engine, "rendezvous at " + meeting.place);
  }
  if (!readable_within(listener.get(), meeting.patience)) {
    return Status(Code::timed_out, Scope::engine,
                  "rank 1 did not come to the rendezvous at " + meeting.place + " within " +
                      seconds_text(meeting.patience) + ": was it started with this MASTER_ADDR and MASTER_PORT?");
  }
  OwnedFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return system_error(Scope::engine, "accept at " + meeting.place);
  return connection;
}

// Two connecting ends of one socket: what comes of trying a port of this host that nobody listens on, now and then.
bool connected_to_itself(int socket) {
  sockaddr_storage here{}, there{};
  socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_bytes);
  ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_bytes);
  return here_bytes == there_bytes && std::memcmp(&here, &there, here_bytes) == 0;
}

// SO_SNDTIMEO bounds connect(); without it, packets that nobody answers hold it up for minutes. 0: no bound.
void bound_connect(int socket, Nanos patience) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(patience).count();
  const timeval limit{time_t(us / 1'000'000), suseconds_t(us % 1'000'000)};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

Result<OwnedFd> connect_to(const Meeting& meeting) {
  RW_ASSIGN_OR_RETURN(const AddressList where, resolve(meeting.address, meeting.port, 0));
  while (true) {
    OwnedFd connection(::socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!connection) return system_error(Scope::engine, "socket");
    bound_connect(connection.get(), std::max(meeting.give_up - now(), Nanos(std::chrono::milliseconds(1))));
    int refused = ::connect(connection.get(), where->ai_addr, where->ai_addrlen) == 0 ? 0 : errno;
    if (refused == EINPROGRESS) refused = ETIMEDOUT;
    if (refused == 0 && connected_to_itself(connection.get())) refused = ECONNREFUSED;
    if (refused == 0) {
      bound_connect(connection.get(), Nanos(0));
      return connection;
    }
    if (now() > meeting.give_up) {
      return Status(Code::timed_out, Scope::engine,
                    "rank 0 was not at the rendezvous " + meeting.place + " for " + seconds_text(meeting.patience) +
                        " (" + std::strerror(refused) + "): was it started with this MASTER_ADDR and MASTER_PORT?",
                    refused);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kRetryEveryMs));
  }
}

std::string greeting(int rank) { return fmt::format("rank {} of {}", rank, ::program_invocation_short_name); }

}  // namespace

Result<Rendezvous> Rendezvous::meet(int rank, const std::string& address, std::uint16_t port, Nanos patience) {
  const Meeting meeting{address, port, patience, now() + patience, fmt::format("{} port {}", address, port)};
  RW_ASSIGN_OR_RETURN(OwnedFd connection, rank == 0 ? accept_one(meeting) : connect_to(meeting));
  const int one = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  Rendezvous met(rank, std::move(connection));
  RW_TRY(met.send(greeting(rank)));
  RW_ASSIGN_OR_RETURN(const std::string other, met.receive(patience));
  if (other == greeting(1 - rank)) return met;
  return Status(Code::remote, Scope::engine,
                "at the rendezvous " + meeting.place + " is '" + other.substr(0, 80) + "', expected '" +
                    greeting(1 - rank) + "'");
}

Status Rendezvous::send(std::string_view message) {
  const auto length = std::uint32_t(message.size());
  std::string framed(reinterpret_cast<const char*>(&length), kLengthBytes);
  framed += message;
  for (std::size_t at = 0; at < framed.size();) {
    const ssize_t n = ::send(connection_.get(), framed.data() + at, framed.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status(Code::remote, Scope::engine, "the other rank has gone", errno);
    at += std::size_t(n);
  }
  return {};
}

Status Rendezvous::read_more() {
  char piece[65536];
  const ssize_t n = ::recv(connection_.get(), piece, sizeof piece, MSG_DONTWAIT);
  if (n > 0) {
    inbox_.append(piece, std::size_t(n));
    std::uint32_t length = 0;
    if (inbox_.size() < kLengthBytes) return {};
    std::memcpy(&length, inbox_.data(), kLengthBytes);
    if (length <= kMessageBytesMax) return {};
    return Status(Code::remote, Scope::engine, "the other end of the rendezvous is not a rank of this program");
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  return Status(Code::remote, Scope::engine, "the other rank has gone", n < 0 ? errno : 0);
}

std::optional<std::string> Rendezvous::take_message() {
  std::uint32_t length = 0;
  if (inbox_.size() < kLengthBytes) return std::nullopt;
  std::memcpy(&length, inbox_.data(), kLengthBytes);
  if (inbox_.size() < kLengthBytes + length) return std::nullopt;
  std::string message = inbox_.substr(kLengthBytes, length);
  inbox_.erase(0, kLengthBytes + length);
  return message;
}

Result<std::optional<std::string>> Rendezvous::try_receive() {
  if (auto message = take_message()) return message;
  RW_TRY(read_more());
  return take_message();
}

Result<std::string> Rendezvous::receive(Nanos patience) {
  const TimePoint give_up = now() + patience;
  while (true) {
    RW_ASSIGN_OR_RETURN(std::optional<std::string> message, try_receive());
    if (message) return std::move(*message);
    if (now() > give_up) return Status(Code::timed_out, Scope::engine, "the other rank does not answer");
    readable_within(connection_.get(), std::chrono::milliseconds(100));
  }
}

Result<std::string> Rendezvous::exchange(std::string_view mine) {
  RW_TRY(send(mine));
  return receive();
}

Status Rendezvous::barrier() { return exchange("here").status(); }

}  // namespace railweave::perf
