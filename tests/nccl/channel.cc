#include "tests/nccl/channel.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#include "tests/nccl/failure.h"

namespace railweave::nccl_test {
namespace {

constexpr int kPatienceMs = 120'000;

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const char* host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = host ? 0 : AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int rc = getaddrinfo(host, port.c_str(), &hints, &found); rc != 0)
    throw Failure("bootstrap address: " + std::string(gai_strerror(rc)));
  return {found, freeaddrinfo};
}

OwnedFd accept_one(const std::string& port) {
  const AddressList list = resolve(nullptr, port);
  const OwnedFd listener(socket(list->ai_family, SOCK_STREAM, 0));
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener.get(), list->ai_addr, list->ai_addrlen) != 0 || listen(listener.get(), 1) != 0)
    throw Failure("bootstrap listen: " + std::string(std::strerror(errno)));
  pollfd wait{listener.get(), POLLIN, 0};
  if (poll(&wait, 1, kPatienceMs) != 1) throw Failure("bootstrap: nobody came");
  return OwnedFd(accept(listener.get(), nullptr, nullptr));
}

OwnedFd connect_to(const std::string& host, const std::string& port) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    const AddressList list = resolve(host.c_str(), port);
    OwnedFd socket_fd(socket(list->ai_family, SOCK_STREAM, 0));
    if (connect(socket_fd.get(), list->ai_addr, list->ai_addrlen) == 0) return socket_fd;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw Failure("bootstrap: cannot connect to " + host + ":" + port);
}

}  // namespace

std::pair<Channel, Channel> Channel::pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw Failure("socketpair failed");
  return {Channel(OwnedFd(ends[0])), Channel(OwnedFd(ends[1]))};
}

Channel Channel::over_tcp(int rank, const std::string& host, const std::string& port) {
  return Channel(rank == 0 ? accept_one(port) : connect_to(host, port));
}

void Channel::send(const std::string& bytes) {
  const std::uint64_t size = bytes.size();
  write_all(std::as_bytes(std::span(&size, 1)));
  write_all(std::as_bytes(std::span(bytes)));
}

std::string Channel::receive() {
  std::uint64_t size = 0;
  read_exactly(std::as_writable_bytes(std::span(&size, 1)));
  std::string bytes(size, '\0');
  read_exactly(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void Channel::read_exactly(std::span<std::byte> into) {
  while (!into.empty()) {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (poll(&wait, 1, kPatienceMs) == 0) throw Failure("the peer of the test said nothing for two minutes");
    const ssize_t got = read(socket_.get(), into.data(), into.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Failure("the peer of the test is gone");
    into = into.subspan(std::size_t(got));
  }
}

void Channel::write_all(std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t put = ::send(socket_.get(), from.data(), from.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw Failure("the peer of the test is gone");
    from = from.subspan(std::size_t(put));
  }
}

}  // namespace railweave::nccl_test
