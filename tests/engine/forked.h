// A child process made by fork, and a socket to talk to it. Fork before the test starts engines of its own: only the
// forking thread lives on in the child.
#pragma once

#include <sys/types.h>
#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "railweave/endpoint.h"

namespace railweave::engine_test {

// One end of a local socket pair, for small messages of fixed size. Calls return false or nullopt when the other end is
// gone.
class Wire {
 public:
  explicit Wire(OwnedFd fd) : fd_(std::move(fd)) {}
  bool say(const void* data, std::size_t bytes);
  bool receive(void* data, std::size_t bytes);
  template <class T>
  bool say(const T& value) {
    return say(&value, sizeof value);
  }
  template <class T>
  std::optional<T> receive() {
    T value;
    if (!receive(&value, sizeof value)) return std::nullopt;
    return value;
  }

 private:
  OwnedFd fd_;
};

class Forked {
 public:
  // Forks a child that runs `body` and exits with the value that `body` returns.
  explicit Forked(const std::function<int(Wire&)>& body);
  ~Forked();  // kills the child if it still runs
  Wire& wire() { return *wire_; }
  void kill(int signal);
  // Stops the child, and returns when it is stopped. kill(SIGCONT) continues it.
  void stop();
  // Waits until the child ends. Returns its exit status, or -signal if a signal ended it.
  int wait();

 private:
  pid_t pid_ = -1;
  std::optional<Wire> wire_;
};

}  // namespace railweave::engine_test
