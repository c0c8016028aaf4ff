// Listener and Connector as the engine's users hold them. Threads: one thread at a time for each object.
#pragma once

#include <memory>
#include <string>

#include "engine/api/listen_queue.h"
#include "engine/api/pending_stream.h"
#include "railweave/endpoint.h"

namespace railweave::engine {

class HostEngine;

class EngineListener final : public Listener {
 public:
  EngineListener(std::shared_ptr<HostEngine> engine, std::shared_ptr<ListenQueue> queue)
      : engine_(std::move(engine)), queue_(std::move(queue)) {}
  ~EngineListener() override;
  Result<std::unique_ptr<RecvStream>> accept() override;

 private:
  const std::shared_ptr<HostEngine> engine_;
  const std::shared_ptr<ListenQueue> queue_;
};

class EngineConnector final : public Connector {
 public:
  // `peer` names the peer in messages.
  EngineConnector(std::shared_ptr<HostEngine> engine, std::shared_ptr<PendingStream> pending, std::string peer);
  ~EngineConnector() override;
  Result<std::unique_ptr<SendStream>> poll() override;

 private:
  const std::shared_ptr<HostEngine> engine_;
  const std::shared_ptr<PendingStream> pending_;
  const std::string peer_;
  const TimePoint deadline_;
};

}  // namespace railweave::engine
