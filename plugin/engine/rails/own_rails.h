// Keeps the current rails of this host for an engine: interfaces, links, listeners and wires. Also keeps the rail
// updates announced to peers (docs/operate/reliability.md, "Links and new rails").
//
// Threads: the reactor's, except where a function says otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/connect/hello.h"
#include "engine/rails/link_watch.h"
#include "engine/rails/rail_listeners.h"
#include "engine/rails/wires.h"
#include "engine/runtime/reactor.h"
#include "protocol/rail_updates.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/stats.h"
#include "railweave/status.h"

namespace railweave::engine {

class OwnRails {
 public:
  struct Observer {
    // The link went down, or is up again. The observer should announce news_of(rail) to peers.
    std::function<void(int rail, bool up)> on_link;
    // The rail is new, or has another interface, name or addresses. on_news has been called for this rail.
    std::function<void(int rail)> on_rail;
    // The rail changed in something other than its link. The observer should announce news_of(rail) to peers.
    std::function<void(int rail)> on_news;
  };

  // `config` and `reactor` outlive this object. `rails`: the rails that the engine starts with.
  OwnRails(const Config& config, Reactor& reactor, std::vector<Rail> rails);

  // Opens a listener at each address. Any thread, before serve(). Errors: as RailListeners::open().
  Status open();
  // Starts accepting connections and watching links and interfaces.
  void serve(RailListeners::OnConnection on_connection, Observer observer);
  // Stops both. Idempotent. The accessors below stay usable.
  void close();

  // All rails: of the start, then those added since. No rail is removed. The vector object stays in place, its elements
  // may move.
  const std::vector<Rail>& now() const { return now_; }
  const Rail& at(int rail) const { return now_[std::size_t(rail)]; }
  // The same rails with the ports of their listeners.
  const std::vector<PeerRail>& with_ports() const { return rail_listeners_.rails(); }
  Wires& wires() { return wires_; }
  // Rails whose links are down.
  const std::vector<int>& down() const { return down_; }
  // True if the rail changed since the engine started. Peers know an unchanged rail from the handshake.
  bool has_news(int rail) const { return editions_[std::size_t(rail)] > 0; }
  // The rail's current state, as a rail update for peers.
  protocol::RailUpdates::Statement news_of(int rail) const;

  // The rails for handles and statistics. Any thread.
  std::vector<PeerRail> announced() const;
  std::vector<RailStats> stats() const;

 private:
  void on_link(int rail, bool up);
  bool update_rails();                   // false: resources were short; to be called again
  bool take_rail(int known, Rail rail);  // false: as update_rails(). `known`: our rail's index; -1: a new rail
  void announce(int rail);               // to peers, by the observer
  void update_announced();               // to announced()

  const Config& config_;
  std::vector<Rail> now_;
  std::vector<std::uint64_t> editions_;  // by rail: of its last rail update; 0: none yet
  Wires wires_;
  RailListeners rail_listeners_;
  LinkWatch link_watch_;
  Observer observer_;
  std::vector<int> down_;
  std::set<std::string> logged_unused_;  // interfaces without a listener, as the log has them
  bool logged_too_many_ = false;         // the log says that there are too many rails
  mutable Mutex mutex_;
  std::vector<PeerRail> announced_ RW_GUARDED_BY(mutex_);  // a copy of rail_listeners_.rails()
};

}  // namespace railweave::engine
