#include "keyed_caller.h"

#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "between.h"

namespace railweave::engine_test {

using engine::Challenge;

KeyedCaller::KeyedCaller(const Handle& handle, const engine::SharedKey& key, const engine::Hello& hello,
                         const engine::Secret* session)
    : fd_(probe_at(engine::decode_handle(handle).value())) {
  answer_.kind = engine::Hello::Kind::refused;
  if (fd_) speak(key, hello, session);
}

void KeyedCaller::speak(const engine::SharedKey& key, const engine::Hello& hello, const engine::Secret* session) {
  Challenge::Nonce nonce;
  if (!fill_with_random(nonce).ok()) return;
  Challenge challenge(engine::Role::dialler, &key, nonce);
  Challenge::Message response;
  if (!say(*challenge.opening()) || !receive(response)) return;
  const Challenge::Turn turn = challenge.on_message(response);
  admitted_ = turn.status.ok();
  if (!admitted_ || !say(*turn.answer)) return;
  const std::vector<std::byte> message = engine::encode_hello(hello);
  if (!say(message) || !say(challenge.connection()->seal(engine::Role::dialler, message, session).value())) return;
  std::vector<std::byte> in(engine::kHelloFixedBytes);
  if (!receive(in)) return;
  const auto all = engine::hello_bytes(std::span<const std::byte, engine::kHelloFixedBytes>(in.data(), in.size()));
  if (!all.ok()) return;
  in.resize(all.value());
  engine::Seal seal;
  if (!receive(std::span(in).subspan(engine::kHelloFixedBytes)) || !receive(seal)) return;
  if (!challenge.connection()->check(engine::Role::acceptor, in, seal).ok()) return;
  if (auto decoded = engine::decode_hello(in); decoded.ok()) answer_ = std::move(decoded.value());
  if (answer_.kind != engine::Hello::Kind::welcome) return;
  const std::vector<std::byte> confirm = engine::encode_hello(engine::confirm_of(answer_));
  if (say(confirm)) (void)say(challenge.connection()->seal(engine::Role::dialler, confirm, session).value());
}

bool KeyedCaller::receive(std::span<std::byte> bytes) {
  return recv(fd_.get(), bytes.data(), bytes.size(), MSG_WAITALL) == ssize_t(bytes.size());
}

bool KeyedCaller::say(std::span<const std::byte> bytes) {
  return send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size());
}

}  // namespace railweave::engine_test
