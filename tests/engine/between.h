// A proxy on loopback between diallers and an acceptor: it forwards the bytes of both, may alter them, and records what
// the first dialler sends.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "engine/connect/handle.h"
#include "railweave/endpoint.h"

namespace railweave::engine_test {

using Bytes = std::vector<std::byte>;

class Between {
 public:
  // May alter bytes on their way. `at`: how many bytes went that way on that connection before. Called on the Between's
  // thread.
  using Alter = std::function<void(bool from_dialler, std::size_t at, std::span<std::byte> bytes)>;

  explicit Between(const Handle& acceptor, Alter alter = {});
  ~Between();

  // Returns the acceptor's handle with the proxy's address in place of the acceptor's.
  Handle handle() const;
  // Returns the bytes that the dialler of the first connection has sent so far.
  Bytes said_by_dialler() const;

 private:
  struct Pair {
    OwnedFd dialler, acceptor;
    std::size_t said = 0, answered = 0;
  };

  void serve();
  void let_in();
  bool pass(Pair& pair, bool from_dialler);

  const Alter alter_;
  engine::HandleContent acceptor_, self_;
  OwnedFd listener_;
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Pair>> pairs_;  // used by the thread only
  mutable std::mutex mutex_;
  Bytes recorded_;         // guarded by mutex_
  bool recording_ = true;  // used by the thread only; false after the first connection ended
  std::thread thread_;
};

// Connects to the first IPv4 address of `handle`. Returns an empty descriptor after a test failure.
OwnedFd probe_at(const engine::HandleContent& handle);

}  // namespace railweave::engine_test
