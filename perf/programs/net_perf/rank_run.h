// Parts that every kind of run shares: the rank's entry in the report, and the merge of both entries into a result.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/control_connection.h"
#include "net_perf/engine_counters.h"
#include "net_perf/flow.h"
#include "net_perf/links.h"
#include "net_perf/options.h"
#include "net_perf/plugin.h"
#include "net_perf/proxy_loop.h"

namespace railweave::perf::net_perf {

// A rank in a run. Borrowed parts must outlive the object.
struct RankRun {
  Plugin& plugin;
  ControlConnection& control;
  const Options& options;
  double baseline_share = 0;  // of measure_background_share()
  int sockets_before = 0;     // of this process, before the plugin was loaded

  int rank() const { return control.rank(); }
  // Number of comms from this rank, and to this rank.
  int outgoing() const { return rank() == 0 || options.both ? options.comms : 0; }
  int incoming() const { return rank() == 1 || options.both ? options.comms : 0; }
  // Reads the counters of Railweave's engine. Returns nothing for other plugins, and for a process that serves several
  // ranks 0: the runs of such a process share one engine.
  std::optional<EngineCounters> engine_counters() const;
};

// Returns an id that is equal at both ends and depends on the sending rank.
std::uint64_t flow_id(int sender, std::size_t index);

// Adds and attaches a flow for each comm. `memory()` makes the memory of each.
template <class MakeMemory>
Status add_flows(FlowSet& flows, const FlowContext& context, const Links& links, int rank, MakeMemory memory) {
  const auto add = [&](auto& to, void* comm, int sender) -> Status {
    auto own = memory();
    if (!own.ok()) return own.status();
    using FlowType = typename std::decay_t<decltype(to)>::value_type::element_type;
    to.push_back(std::make_unique<FlowType>(context, comm, flow_id(sender, to.size()), std::move(*own)));
    return to.back()->attach();
  };
  for (void* comm : links.sends()) {
    if (Status status = add(flows.sends, comm, rank); !status.ok()) return status;
  }
  for (void* comm : links.receives()) {
    if (Status status = add(flows.receives, comm, 1 - rank); !status.ok()) return status;
  }
  return {};
}

// Makes the rank's entry in "ranks", including its flows. `counters_before`: at the beginning of the load.
nlohmann::json rank_entry(const RankRun& run, const TimedBlock& block, const ProxyLoop& loop, const FlowSet& flows,
                          const std::optional<EngineCounters>& counters_before);

// Exchanges the entries. Both ranks get the result.
Result<nlohmann::json> join_ranks(const RankRun& run, nlohmann::json mine);

}  // namespace railweave::perf::net_perf
