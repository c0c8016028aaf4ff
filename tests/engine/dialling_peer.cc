#include "dialling_peer.h"

namespace railweave::engine_test {

int dial_and(Wire& wire, const Config& config, const std::function<int(Engine&, SendStream&)>& then) {
  const auto handle = wire.receive<Handle>();
  if (!handle) return 90;
  auto engine = Engine::start(config);
  if (!engine.ok()) return 91;
  auto connector = (*engine)->connect(0, *handle);
  if (!connector.ok()) return 92;
  std::unique_ptr<SendStream> send;
  eventually([&] {
    auto polled = (*connector)->poll();
    if (polled.ok()) send = std::move(*polled);
    return bool(send) || !polled.ok();
  });
  connector->reset();
  return send ? then(**engine, *send) : 93;
}

bool Host::welcome(Forked& peer) {
  Handle handle;
  if (!engine) return false;
  auto made = engine->listen(0, handle);
  if (!made.ok()) return false;
  listener = std::move(*made);
  if (!peer.wire().say(handle)) return false;
  return eventually([&] {
    auto accepted = listener->accept();
    if (accepted.ok()) recv = std::move(*accepted);
    return bool(recv);
  });
}

}  // namespace railweave::engine_test
