// The comms between the two ranks, set up in NCCL's order: listen for all, exchange all handles, then poll connect and
// accept until every one is there.
#pragma once

#include <vector>

#include "common/rendezvous.h"
#include "net_perf/plugin.h"

namespace railweave::perf::net_perf {

// Closes what it opened; requests outstanding then end as in NCCL's abort.
class Links {
 public:
  // `outgoing` comms from this rank, `incoming` to it (the other rank's outgoing). Both ranks call it at the same time.
  // Errors: what the plugin said; remote, when the other rank has gone; timed_out after 30 s.
  static Result<Links> open(Plugin& plugin, Rendezvous& rendezvous, int outgoing, int incoming);
  Links(Links&&) = default;
  Links& operator=(Links&&) = delete;
  ~Links();

  const std::vector<void*>& sends() const { return sends_; }
  const std::vector<void*>& receives() const { return receives_; }

 private:
  explicit Links(Plugin& plugin) : plugin_(&plugin) {}
  Result<std::string> listen_all(int incoming);
  Status connect_all(std::string handles, Rendezvous& rendezvous);
  void close_listeners();

  Plugin* plugin_;
  std::vector<void*> listeners_, sends_, receives_;
};

}  // namespace railweave::perf::net_perf
