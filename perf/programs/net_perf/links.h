// Sets up the comms between the two ranks in NCCL's order: listen for all, exchange all handles, then poll connect and
// accept until every comm is there.
#pragma once

#include <vector>

#include "common/control_connection.h"
#include "net_perf/plugin.h"

namespace railweave::perf::net_perf {

// Closes its comms when destroyed. Outstanding requests then end as in NCCL's abort.
class Links {
 public:
  // Opens `outgoing` comms from this rank and `incoming` comms to this rank, which are the other rank's outgoing ones.
  // Both ranks call this at the same time. Errors: the plugin's; remote when the other rank has gone; timed_out after
  // 30 s.
  static Result<Links> open(Plugin& plugin, ControlConnection& control, int outgoing, int incoming);
  Links(Links&&) = default;
  Links& operator=(Links&&) = delete;
  ~Links();

  const std::vector<void*>& sends() const { return sends_; }
  const std::vector<void*>& receives() const { return receives_; }

 private:
  explicit Links(Plugin& plugin) : plugin_(&plugin) {}
  Result<std::string> listen_all(int incoming);
  Status connect_all(std::string handles, ControlConnection& control);
  void close_listeners();

  Plugin* plugin_;
  std::vector<void*> listeners_, sends_, receives_;
};

}  // namespace railweave::perf::net_perf
