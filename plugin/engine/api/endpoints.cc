#include "engine/api/endpoints.h"

#include "base/clock.h"
#include "engine/api/host_engine.h"

namespace railweave::engine {
namespace {

// True: the message of `status` names the peer or the dialled address itself. Then the handle's first address is not
// added: a reader would take two addresses of one NIC for two NICs.
bool names_the_peer(const Status& status) {
  const bool by_peer = status.code() == Code::remote || status.code() == Code::timed_out;
  return by_peer && (status.scope() == Scope::lane || status.scope() == Scope::session);
}

}  // namespace

EngineListener::~EngineListener() {
  if (!engine_->forked()) engine_->close_listener(queue_->id());
}

Result<std::unique_ptr<RecvStream>> EngineListener::accept() {
  if (engine_->forked()) return dead_after_fork();
  std::unique_ptr<RecvEnd> end = queue_->pop();
  if (end) end->hold(engine_);
  return std::unique_ptr<RecvStream>(std::move(end));
}

EngineConnector::EngineConnector(std::shared_ptr<HostEngine> engine, std::shared_ptr<PendingStream> pending,
                                 std::string peer)
    : engine_(std::move(engine)),
      pending_(std::move(pending)),
      peer_(std::move(peer)),
      deadline_(now() + engine_->config().connect_timeout) {}

EngineConnector::~EngineConnector() {
  if (!engine_->forked()) pending_->give_up();
}

Result<std::unique_ptr<SendStream>> EngineConnector::poll() {
  if (engine_->forked()) return dead_after_fork();
  if (const std::shared_ptr<Session> session = pending_->session()) session->progress();
  Result<std::unique_ptr<SendEnd>> end = pending_->take();
  if (const Status why = end.ok() ? Status() : end.status(); !why.ok()) {
    const std::string whom = names_the_peer(why) ? "connecting: " : "connecting to " + peer_ + ": ";
    return Status(why.code(), why.scope(), whom + std::string(why.message()), why.system_errno());
  }
  if (*end) {
    (*end)->hold(engine_);
    return std::unique_ptr<SendStream>(std::move(*end));
  }
  if (now() < deadline_) return std::unique_ptr<SendStream>();
  return Status(
      Code::timed_out, Scope::stream,
      "connecting to " + peer_ + ": no answer within " +
          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(engine_->config().connect_timeout).count()) +
          " s (RAILWEAVE_CONNECT_TIMEOUT)");
}

}  // namespace railweave::engine
