// A peer without an engine, on loopback: the test sends and receives the messages of handshakes one by one. Each wait
// ends after 20 s.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "engine/connect/hello.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {

inline Rail loopback_rail() {
  Rail rail;
  rail.name = "lo";
  rail.loopback = true;
  rail.addresses = {{.family = Address::Family::v4, .bytes = {127, 0, 0, 1}, .prefix_bits = 8}};
  return rail;
}

// One end of a connection, with calls that block.
class Talker {
 public:
  explicit Talker(OwnedFd fd) : fd_(std::move(fd)) {
    (void)::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) & ~O_NONBLOCK);
    const timeval patience{20, 0};
    (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  // Connects to a listener at the loopback address.
  static Talker dial(std::uint16_t port) {
    OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const wire::SocketAddress to = wire::socket_address(loopback_rail().addresses[0], port);
    EXPECT_EQ(::connect(fd.get(), to.get(), to.size), 0);
    return Talker(std::move(fd));
  }

  void say(const Hello& hello) {
    const std::vector<std::byte> bytes = encode_hello(hello);
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t(bytes.size()));
  }
  // Returns none if the other end closed the connection, or sent no valid Hello.
  std::optional<Hello> receive() {
    std::vector<std::byte> in(kHelloFixedBytes);
    if (!fill(in, 0)) return {};
    auto all = hello_bytes(std::span<const std::byte, kHelloFixedBytes>(in.data(), kHelloFixedBytes));
    if (!all.ok()) return {};
    in.resize(*all);
    if (!fill(in, kHelloFixedBytes)) return {};
    auto hello = decode_hello(in);
    return hello.ok() ? std::optional(std::move(*hello)) : std::nullopt;
  }
  // Waits until the other end closes the connection. Returns false if the other end sends a byte before.
  bool hears_the_end() {
    char byte;
    const ssize_t n = ::recv(fd_.get(), &byte, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }
  void hang_up() { fd_.reset(); }

 private:
  bool fill(std::vector<std::byte>& in, std::size_t from) {
    const ssize_t n = ::recv(fd_.get(), in.data() + from, in.size() - from, MSG_WAITALL);
    return n == ssize_t(in.size() - from);
  }

  OwnedFd fd_;
};

// A listener at which the test accepts connections.
class Porch {
 public:
  Porch() {
    auto listening = wire::listen_at(loopback_rail().addresses[0], PortRange{}, {});
    EXPECT_TRUE(listening.ok());
    fd_ = std::move(listening->fd);
    port_ = listening->address.port();
  }
  std::uint16_t port() const { return port_; }
  PeerAddress address() const { return {loopback_rail().addresses[0], port_}; }
  // Waits for the next connection, and returns it as an Acceptor gets it.
  wire::Accepted accept() {
    pollfd p{fd_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&p, 1, 20'000), 1) << "nobody dials";
    auto accepted = wire::accept_from(fd_.get());
    return accepted.ok() ? std::move(*accepted) : wire::Accepted();
  }
  Talker answer() { return Talker(accept().fd); }
  bool is_deserted() const {
    pollfd p{fd_.get(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 0;
  }

 private:
  OwnedFd fd_;
  std::uint16_t port_ = 0;
};

}  // namespace railweave::engine
