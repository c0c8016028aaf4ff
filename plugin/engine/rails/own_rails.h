// The rails of this host as an engine has them now: interfaces, links, listeners and wires; and what peers are told of
// them (docs/operate/reliability.md, "Links and new rails").
//
// Threads: the reactor's, but for open() and what says otherwise.
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
    // The link went down, or is up again. Peers should be told of the rail: news_of().
    std::function<void(int rail, bool up)> on_link;
    // The rail is new, or has another interface, name or addresses.
    std::function<void(int rail)> on_rail;
    // Peers should be told of the rail for another reason than its link: news_of().
    std::function<void(int rail)> on_news;
  };

  // `config` and `reactor` outlive it. `rails`: those the engine starts with.
  OwnRails(const Config& config, Reactor& reactor, std::vector<Rail> rails);

  // Opens a listener at each address. Any thread, before serve(). Errors: as RailListeners::open().
  Status open();
  // Accepts connections, and watches links and interfaces.
  void serve(RailListeners::OnConnection on_connection, Observer observer);
  void close();

  // Those of the start, and those that came since; none ever goes. The vector stays where it is.
  const std::vector<Rail>& now() const { return now_; }
  const Rail& at(int rail) const { return now_[std::size_t(rail)]; }
  // The same with the ports they listen on.
  const std::vector<PeerRail>& with_ports() const { return rail_listeners_.rails(); }
  Wires& wires() { return wires_; }
  // Whose links are down.
  const std::vector<int>& down() const { return down_; }
  // What is new of a rail since the engine started; of one that has not changed a peer knows by the handshake.
  bool has_news(int rail) const { return editions_[std::size_t(rail)] > 0; }
  protocol::RailUpdates::Statement news_of(int rail) const;

  // What handles and statistics say. Any thread.
  std::vector<PeerRail> announced() const;
  std::vector<RailStats> stats() const;

 private:
  void on_link(int rail, bool up);
  bool find_rails();                     // false: something was short
  bool take_rail(int known, Rail rail);  // likewise. `known`: as which of ours, or -1
  void announce(int rail);
  void announce();

  const Config& config_;
  std::vector<Rail> now_;
  std::vector<std::uint64_t> editions_;  // of them, as peers are told
  Wires wires_;
  RailListeners rail_listeners_;
  LinkWatch link_watch_;
  Observer observer_;
  std::vector<int> down_;
  std::set<std::string> reported_unused_;  // interfaces that no listener could be opened for
  bool said_too_many_ = false;
  mutable Mutex mutex_;
  std::vector<PeerRail> announced_ RW_GUARDED_BY(mutex_);  // what rail_listeners_ says
};

}  // namespace railweave::engine
