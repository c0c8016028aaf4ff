// A dialler that has the key but no engine: it sends a Hello that the test makes, sealed with any session's secret.
#pragma once

#include "base/fd.h"
#include "engine/admission/challenge.h"
#include "engine/connect/hello.h"
#include "railweave/endpoint.h"

namespace railweave::engine_test {

class KeyedCaller {
 public:
  KeyedCaller(const Handle& handle, const engine::SharedKey& key, const engine::Hello& hello,
              const engine::Secret* session = nullptr);

  // True if the peer proved that it has the key.
  bool admitted() const { return admitted_; }
  // The peer's answer to the Hello. If there is none with a valid seal: refused, and `from` is zero.
  const engine::Hello& answer() const { return answer_; }

 private:
  void speak(const engine::SharedKey& key, const engine::Hello& hello, const engine::Secret* session);
  bool receive(std::span<std::byte> bytes);
  bool say(std::span<const std::byte> bytes);

  OwnedFd fd_;
  bool admitted_ = false;
  engine::Hello answer_;
};

}  // namespace railweave::engine_test
