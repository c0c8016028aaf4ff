#include "common/rendezvous.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

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

Result<OwnedFd> accept_one(const std::string& address, std::uint16_t port) {
  RW_ASSIGN_OR_RETURN(const AddressList where, resolve(address, port, AI_PASSIVE));
  const std::string name = address + " port " + std::to_string(port);
  OwnedFd listener(::socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) return system_error(Scope::engine, "socket");
  const int one = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(listener.get(), where->ai_addr, where->ai_addrlen) != 0 || ::listen(listener.get(), 1) != 0) {
    return system_error(Scope::engine, "rendezvous at " + name);
  }
  if (!readable_within(listener.get(), Rendezvous::kMeetingPatience)) {
    return Status(Code::timed_out, Scope::engine, "rank 1 did not come to the rendezvous at " + name);
  }
  OwnedFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return system_error(Scope::engine, "accept at " + name);
  return connection;
}

Result<OwnedFd> connect_to(const std::string& address, std::uint16_t port) {
  RW_ASSIGN_OR_RETURN(const AddressList where, resolve(address, port, 0));
  const TimePoint give_up = now() + Rendezvous::kMeetingPatience;
  while (true) {
    OwnedFd connection(::socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!connection) return system_error(Scope::engine, "socket");
    if (::connect(connection.get(), where->ai_addr, where->ai_addrlen) == 0) return connection;
    if (now() > give_up) {
      return system_error(Scope::engine,
                          "rank 0 is not at the rendezvous " + address + " port " + std::to_string(port));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kRetryEveryMs));
  }
}

}  // namespace

Result<Rendezvous> Rendezvous::meet(int rank, const std::string& address, std::uint16_t port) {
  RW_ASSIGN_OR_RETURN(OwnedFd connection, rank == 0 ? accept_one(address, port) : connect_to(address, port));
  const int one = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return Rendezvous(rank, std::move(connection));
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
