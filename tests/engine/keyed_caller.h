// A process that has the key and dials by hand: says a Hello that the test makes, with whatever secret of a session.
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

  // The peer showed that it has the key.
  bool admitted() const { return admitted_; }
  // What it answered to the Hello; from nobody (zeroes) if nothing that is sealed well.
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
