// One connection on its way to become a lane: sends one Hello, reads one Hello, within a deadline. On the reactor's
// thread only. Exactly one callback; destroying a Handshake closes its connection without one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "engine/hello.h"
#include "engine/reactor.h"
#include "railweave/status.h"
#include "wire/tcp/socket.h"

namespace railweave::engine {

class Handshake final : public Pollable {
 public:
  // The peer's Hello and the connected socket, or why there is none.
  struct Outcome {
    Status status;
    Hello hello;
    OwnedFd fd;
    OwnedFd attached = OwnedFd();  // that came with a local Hello
    bool spoke = false;            // some of our Hello may have reached the peer
  };
  using Done = std::function<void(Outcome)>;

  // Dials, says `hello`, waits for the answer.
  static std::unique_ptr<Handshake> dial(Reactor& reactor, const wire::DialSpec& spec, const Hello& hello, TimePoint deadline,
                                         Done done);
  // Waits for the other's Hello on an accepted connection. The answer is the caller's to write (send_hello()).
  static std::unique_ptr<Handshake> await(Reactor& reactor, OwnedFd fd, TimePoint deadline, Done done);

  // The same on a local connection: `attached` goes with the hello, and what came with the other's is in the outcome.
  static std::unique_ptr<Handshake> dial_local(Reactor& reactor, OwnedFd connected, OwnedFd attached, const Hello& hello,
                                               TimePoint deadline, Done done);
  static std::unique_ptr<Handshake> await_local(Reactor& reactor, OwnedFd fd, TimePoint deadline, Done done);

  ~Handshake();

 private:
  Handshake(Reactor& reactor, std::string what, Done done);
  void start(TimePoint deadline, std::uint32_t events);
  void fail_soon(Status why);
  void on_ready(std::uint32_t events) override;
  Status advance(std::uint32_t& wanted, bool& complete);
  Status write_some(bool& all);
  Status read_some(bool& all);
  void finish(Status status);

  Reactor& reactor_;
  const std::string what_;           // "dialling 10.0.0.2:4000 from eth0"
  Done done_;
  OwnedFd fd_;
  wire::SocketAddress remote_;
  bool connecting_ = false;
  bool spoke_ = false;
  bool local_ = false;
  OwnedFd attached_;                 // local: to be sent with our Hello; then, what came with theirs
  std::vector<std::byte> out_;       // unsent rest of our Hello
  std::vector<std::byte> in_;
  std::size_t expected_bytes_ = kHelloFixedBytes;
  Hello hello_;
  Reactor::TimerId timer_ = 0;
};

// Writes a whole Hello to a fresh connection; its buffer holds it without waiting.
Status send_hello(int fd, const Hello& hello);

}  // namespace railweave::engine
