// The engine of one process (include/railweave/endpoint.h): one identity, one reactor, sessions by peer. Joins these
// parts: OwnRails has this host's rails, SessionDirectory the sessions and dials, Acceptor the incoming connections,
// and PeerSessions the reactor's work for each session.
//
// Threads: as endpoint.h says. Each part says which threads may call it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/idle_sessions.h"
#include "engine/api/listeners.h"
#include "engine/api/peer_sessions.h"
#include "engine/connect/acceptor.h"
#include "engine/connect/identity.h"
#include "engine/connect/session_directory.h"
#include "engine/credit/shared_account.h"
#include "engine/rails/own_rails.h"
#include "engine/runtime/fork_guard.h"
#include "engine/runtime/reactor.h"
#include "engine/runtime/unix_listener.h"
#include "engine/session/session.h"
#include "engine/stats/stats_endpoint.h"
#include "railweave/endpoint.h"

namespace railweave::engine {

class HostEngine final : public Engine,
                         public std::enable_shared_from_this<HostEngine>,
                         private SessionOwner,
                         private AcceptorOwner {
 public:
  HostEngine(const Config& config, std::vector<Rail> rails, std::vector<Device> devices);
  ~HostEngine() override;
  // Errors: invalid_config (the key's file), exhausted (ports, threads), system.
  Status start();

  const std::vector<Rail>& rails() const override { return rails_; }
  const std::vector<Device>& devices() const override { return devices_; }
  bool shares_memory() const override { return config_.shm.value_or(false); }
  Result<std::unique_ptr<Listener>> listen(int device, Handle& handle) override;
  Result<std::unique_ptr<Connector>> connect(int device, const Handle& handle, int traffic_class,
                                             Priority priority) override;
  EngineStats stats() const override;

  // For connectors and listeners.
  const Config& config() const { return config_; }
  bool forked() const { return origin_.in_child(); }
  void close_listener(std::uint32_t id) { listeners_.close(id); }

 private:
  // SessionOwner
  std::shared_ptr<ListenQueue> find_listener(std::uint32_t id) override { return listeners_.find(id); }
  std::unique_ptr<LaneCredit> credit_on(int rail) override;
  void on_lane_came(std::shared_ptr<Session> session) override;
  bool warns_of_unused() override;
  bool may_warn_of_silence(bool is_silent) override;
  void on_unanswered(std::shared_ptr<PendingStream> pending, const Status& why) override {
    directory_.open_again(std::move(pending), why);
  }
  void wake_for(std::shared_ptr<Session> session) noexcept override { reactor_.wake_for(std::move(session)); }
  void on_woken(Session& session, const SessionWants& wants) override;

  // AcceptorOwner
  void accept_session(const Hello& first, NewLane lane) override;
  void add_lane(Session& session, NewLane lane) override;
  bool was_dialled(const Session& session) override;
  void on_probe(const Session& session, const RailPair& by, Address::Family family,
                const std::vector<PeerRail>& peer_rails) override;

  Status read_key();
  Status check_device(int device) const;
  std::uint64_t rail_mask(int device) const;
  std::vector<PeerAddress> addresses_of(int device) const;

  // Reactor's thread.
  void serve();
  PeerSession& add_session(const PeerKey& key, const Hello& peer, std::uint64_t serial, NewLane lane,
                           SessionDirectory::Waiters waiters);
  void on_welcome(const PeerKey& key, const Hello& welcome, std::uint64_t serial, NewLane lane,
                  SessionDirectory::Waiters waiters);
  // Makes the record's dialler. Returns the access that LaneReconciler and PeerProbe are constructed with.
  SessionAccess give_dialler(PeerSession& its, const PeerKey& key);
  void log_lane(const Session& session, const NewLane& lane) const;
  void retire(const std::shared_ptr<Session>& session);
  std::vector<std::shared_ptr<Session>> stop_all();

  void close_all_lanes();

  const ProcessOrigin origin_;
  const Config config_;
  const std::vector<Rail> rails_;  // those that the engine started with
  const std::vector<Device> devices_;
  const Status ended_{Code::cancelled, Scope::engine, "the engine ended"};  // allocated early, while there is memory
  std::optional<SharedKey> key_;                                            // read by start(); none: no key file
  Identity self_;
  Listeners listeners_;
  Reactor reactor_;
  OwnRails own_rails_;
  SessionDirectory directory_;
  PeerSessions peer_sessions_;
  Acceptor acceptor_;
  UnixListener unix_listener_;
  StatsEndpoint stats_endpoint_;
  std::map<int, SharedAccount> accounts_;  // by interface index
  IdleSessions idle_sessions_;
  std::atomic<TimePoint> warned_unused_{TimePoint{}};  // last warns_of_unused() that was true; TimePoint{}: never
};

}  // namespace railweave::engine
