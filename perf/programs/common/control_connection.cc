#include "common/control_connection.h"

#include <errno.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/named_socket.h"

namespace railweave::perf {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::uint32_t kMessageBytesMax = 256u << 20;

bool ready_within(int fd, short what, Nanos patience) {
  pollfd entry{fd, what, 0};
  return ::poll(&entry, 1, int(patience / std::chrono::milliseconds(1))) > 0;
}

// Where ranks connect, and how long they try.
struct Meeting {
  std::string address;
  std::uint16_t port;
  Nanos patience;
  std::string place;  // for messages
};

std::string seconds_text(Nanos patience) { return fmt::format("{:g} s", double(patience.count()) / 1e9); }

Result<OwnedFd> accept_one(const Meeting& meeting) {
  std::uint16_t served = 0;
  RW_ASSIGN_OR_RETURN(const OwnedFd listener, listen_at(meeting.address, meeting.port, served));
  if (!ready_within(listener.get(), POLLIN, meeting.patience)) {
    return Status(Code::timed_out, Scope::engine,
                  "rank 1 did not come to the rendezvous at " + meeting.place + " within " +
                      seconds_text(meeting.patience) + ": was it started with this MASTER_ADDR and MASTER_PORT?");
  }
  OwnedFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) return system_error(Scope::engine, "accept at " + meeting.place);
  const int one = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return connection;
}

Result<OwnedFd> come_to(const Meeting& meeting) {
  auto connection = connect_to(meeting.address, meeting.port, meeting.patience);
  if (connection.ok() || connection.status().code() != Code::timed_out) return connection;
  const Status& why = connection.status();
  return Status(Code::timed_out, Scope::engine,
                "rank 0 was not at the rendezvous " + meeting.place + " (" + std::string(why.message()) +
                    "): was it started with this MASTER_ADDR and MASTER_PORT?",
                why.system_errno());
}

std::string greeting(int rank) { return fmt::format("rank {} of {}", rank, ::program_invocation_short_name); }

}  // namespace

Result<ControlConnection> ControlConnection::meet(int rank, const std::string& address, std::uint16_t port,
                                                  Nanos patience) {
  const Meeting meeting{address, port, patience, fmt::format("{} port {}", address, port)};
  RW_ASSIGN_OR_RETURN(OwnedFd connection, rank == 0 ? accept_one(meeting) : come_to(meeting));
  ControlConnection met(rank, std::move(connection));
  RW_TRY(met.send(greeting(rank)));
  RW_ASSIGN_OR_RETURN(const std::string other, met.receive(patience));
  if (other == greeting(1 - rank)) return met;
  return Status(Code::remote, Scope::engine,
                "at the rendezvous " + meeting.place + " is '" + other.substr(0, 80) + "', expected '" +
                    greeting(1 - rank) + "'");
}

Status ControlConnection::send(std::string_view message) {
  const auto length = std::uint32_t(message.size());
  std::string framed(reinterpret_cast<const char*>(&length), kLengthBytes);
  framed += message;
  for (std::size_t at = 0; at < framed.size();) {
    const ssize_t n = ::send(connection_.get(), framed.data() + at, framed.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      ready_within(connection_.get(), POLLOUT, kAnswerPatience);
      continue;
    }
    if (n < 0) return Status(Code::remote, Scope::engine, "the other rank has gone", errno);
    at += std::size_t(n);
  }
  return {};
}

Status ControlConnection::read_more() {
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

std::optional<std::string> ControlConnection::take_message() {
  std::uint32_t length = 0;
  if (inbox_.size() < kLengthBytes) return std::nullopt;
  std::memcpy(&length, inbox_.data(), kLengthBytes);
  if (inbox_.size() < kLengthBytes + length) return std::nullopt;
  std::string message = inbox_.substr(kLengthBytes, length);
  inbox_.erase(0, kLengthBytes + length);
  return message;
}

Result<std::optional<std::string>> ControlConnection::try_receive() {
  if (auto message = take_message()) return message;
  RW_TRY(read_more());
  return take_message();
}

Result<std::string> ControlConnection::receive(Nanos patience) {
  const TimePoint give_up = now() + patience;
  while (true) {
    RW_ASSIGN_OR_RETURN(std::optional<std::string> message, try_receive());
    if (message) return std::move(*message);
    if (now() > give_up) return Status(Code::timed_out, Scope::engine, "the other rank does not answer");
    ready_within(connection_.get(), POLLIN, std::chrono::milliseconds(100));
  }
}

Result<std::string> ControlConnection::exchange(std::string_view mine) {
  RW_TRY(send(mine));
  return receive();
}

Status ControlConnection::barrier() { return exchange("here").status(); }

}  // namespace railweave::perf
