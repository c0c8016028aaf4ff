// The main loop of a rank. Drives all flows in one thread, as NCCL's progress thread does, and ends them by agreement
// with the other rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/control_connection.h"
#include "common/timed_block.h"
#include "common/timed_commands.h"
#include "net_perf/flow.h"

namespace railweave::perf::net_perf {

// The flows of one rank. Not movable: flows refer to its counters.
struct FlowSet {
  Totals totals;
  VerifyCounts verified;
  std::vector<std::unique_ptr<SendFlow>> sends;
  std::vector<std::unique_ptr<RecvFlow>> receives;

  FlowSet() = default;
  FlowSet(const FlowSet&) = delete;
  FlowSet& operator=(const FlowSet&) = delete;
};

struct LoopOptions {
  int sleep_us = 0;
  bool progress = false;  // a line per second on stderr
};

class ProxyLoop {
 public:
  ProxyLoop(ControlConnection& control, FlowSet& flows, const LoopOptions& options);

  // Runs the load through the block's warm-up and duration, until both ranks have agreed on the last message of every
  // flow and all are done. Rank 0 runs `commands` in the block.
  Status run_timed(TimedBlock& block, TimedCommands& commands);
  // Runs until every flow has done `messages[i]` more (sends first, then receives). The block covers the whole load.
  Status run_counted(TimedBlock& block, TimedCommands& commands, const std::vector<std::uint64_t>& messages);

  // Figures of one receive within the block. `seconds` last until the block's end, or, with counted bytes, until the
  // receive's last message.
  struct Account {
    std::uint64_t bytes_before = 0, bytes = 0;
    double seconds = 0;  // 0: still open
  };
  const std::vector<Account>& receive_accounts() const { return accounts_; }

 private:
  Result<bool> pass();
  template <class Done>
  Status run(TimedBlock& block, TimedCommands& commands, Done done);
  void tick(TimedBlock& block, TimedCommands& commands, TimePoint t);
  bool all_at_goal() const;
  void open_accounts();
  void close_accounts(const TimedBlock& block, TimePoint t, bool only_finished);
  void show_progress(const TimedBlock& block, TimePoint t);

  ControlConnection& control_;
  FlowSet& flows_;
  LoopOptions options_;
  std::vector<Account> accounts_;
  TimePoint next_progress_{};
  Totals shown_;
};

}  // namespace railweave::perf::net_perf
