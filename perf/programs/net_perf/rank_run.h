// What every kind of run shares: the rank's entry in the report, and joining both ranks' entries into a RESULT.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/rendezvous.h"
#include "net_perf/engine_counters.h"
#include "net_perf/flow.h"
#include "net_perf/links.h"
#include "net_perf/options.h"
#include "net_perf/plugin.h"
#include "net_perf/proxy_loop.h"

namespace railweave::perf::net_perf {

// A rank in a run. Borrowed parts outlive it.
struct RankRun {
  Plugin& plugin;
  Rendezvous& rendezvous;
  const Options& options;
  double baseline_share = 0;  // of measure_background_share()
  int sockets_before = 0;     // of this process, before the plugin was loaded

  int rank() const { return rendezvous.rank(); }
  // Comms out of this rank, and into it.
  int outgoing() const { return rank() == 0 || options.both ? options.comms : 0; }
  int incoming() const { return rank() == 1 || options.both ? options.comms : 0; }
  // Counters of Railweave's engine so far. None for other plugins, and none for a process that meets several ranks 0:
  // the runs of such a process have one engine together.
  std::optional<EngineCounters> engine_counters() const;
};

// Alike at both ends; which rank sends is part of it.
std::uint64_t flow_id(int sender, std::size_t index);

// Adds a flow for each comm, `memory()` giving each its own, and attaches them.
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

// The rank's entry in "ranks", its flows inside. `counters_before`: at the beginning of the load.
nlohmann::json rank_entry(const RankRun& run, const TimedBlock& block, const ProxyLoop& loop, const FlowSet& flows,
                          const std::optional<EngineCounters>& counters_before);

// Exchanges entries; both ranks get the RESULT.
Result<nlohmann::json> join_ranks(const RankRun& run, nlohmann::json mine);

}  // namespace railweave::perf::net_perf
