// A false acceptor: it listens on loopback, reads Hellos, and answers as the test wants.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "engine/connect/hello.h"
#include "protocol/frame_fields.h"
#include "railweave/endpoint.h"

namespace railweave::engine_test {

class Impostor {
 public:
  // Called on the impostor's thread for every complete Hello. `answer` is a correct welcome, which the test may alter.
  // Returns false to close the connection without an answer.
  using Answer = std::function<bool(const engine::Hello& said, engine::Hello& answer)>;

  explicit Impostor(Answer answer);
  ~Impostor();

  // Returns the handle of listener 1 at this peer.
  Handle handle() const;
  int handshakes() const { return handshakes_; }
  // Sends `frame` on the connection that was answered last. From inside Answer only.
  void say(const protocol::FrameHeader& frame);

 private:
  void serve();
  void greet(OwnedFd fd);

  const Answer answer_;
  engine::HandleContent self_;
  OwnedFd listener_;
  std::atomic<int> handshakes_{0};
  std::atomic<bool> stop_{false};
  std::vector<OwnedFd> connections_;  // used by the thread only
  std::thread thread_;
};

}  // namespace railweave::engine_test
