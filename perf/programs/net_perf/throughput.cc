#include "net_perf/throughput.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "common/report.h"

namespace railweave::perf::net_perf {
namespace {

MessageSizes sizes_of(const Options& options) {
  return options.random_sizes() ? MessageSizes::random(options.range, options.seed) : MessageSizes::fixed(options.size);
}

// Memory of a flow. With random sizes it holds one largest message or several small ones, so that many comms fit the
// machine.
std::size_t memory_bytes(const Options& options) {
  if (options.random_sizes()) return RingMemory::bytes_for(1, options.range.largest);
  return RingMemory::bytes_for(std::size_t(options.inflight), options.size);
}

Result<std::unique_ptr<MessageMemory>> make_ring(std::size_t bytes) {
  RW_ASSIGN_OR_RETURN(Pages pages, Pages::allocate(bytes));
  return std::unique_ptr<MessageMemory>(std::make_unique<RingMemory>(std::move(pages)));
}

std::vector<std::uint64_t> counts_for(const FlowSet& flows, const MessageSizes& sizes, std::uint64_t bytes) {
  std::vector<std::uint64_t> counts;
  for (const auto& flow : flows.sends) counts.push_back(sizes.count_for(flow->id(), flow->posted(), bytes));
  for (const auto& flow : flows.receives) counts.push_back(sizes.count_for(flow->id(), flow->posted(), bytes));
  return counts;
}

Result<TimedBlock> make_block(const BlockPlan& plan) {
  RW_ASSIGN_OR_RETURN(InterfaceSampler interfaces, InterfaceSampler::open());
  return TimedBlock(plan, std::move(interfaces));
}

// Runs the warm-up as a load of its own, then the counted load from a common start.
Status run_counted(const RankRun& run, ProxyLoop& loop, const FlowSet& flows, const MessageSizes& sizes,
                   TimedBlock& block, TimedCommands& commands) {
  if (run.options.warmup_s > 0) {
    RW_ASSIGN_OR_RETURN(TimedBlock warmup, make_block(BlockPlan{.duration = nanos(run.options.warmup_s)}));
    TimedCommands none;
    RW_TRY(loop.run_timed(warmup, none));
    RW_TRY(run.control.barrier());
  }
  return loop.run_counted(block, commands, counts_for(flows, sizes, run.options.bytes));
}

}  // namespace

Result<nlohmann::json> measure_throughput(const RankRun& run) {
  const Options& options = run.options;
  const MessageSizes sizes = sizes_of(options);
  std::optional<Pattern> pattern;
  if (options.verify) pattern.emplace(sizes.largest(), options.seed);

  RW_ASSIGN_OR_RETURN(const Links links, Links::open(run.plugin, run.control, run.outgoing(), run.incoming()));
  FlowSet flows;
  const FlowContext context{run.plugin.net(), &sizes,       pattern ? &*pattern : nullptr,
                            options.inflight, flows.totals, flows.verified};
  RW_TRY(add_flows(flows, context, links, run.rank(), [&] { return make_ring(memory_bytes(options)); }));
  RW_ASSIGN_OR_RETURN(TimedBlock block, make_block(options.block_plan()));
  RW_ASSIGN_OR_RETURN(TimedCommands commands, TimedCommands::parse(options.at));
  ProxyLoop loop(run.control, flows, LoopOptions{options.sleep_us, options.progress && run.rank() == 0});
  const auto counters_before = run.engine_counters();
  RW_TRY(run.control.barrier());
  options.wait_to_begin();

  RW_TRY(options.counted() ? run_counted(run, loop, flows, sizes, block, commands) : loop.run_timed(block, commands));
  nlohmann::json mine = rank_entry(run, block, loop, flows, counters_before);
  if (run.rank() == 0) mine["events"] = commands.finish();
  return join_ranks(run, std::move(mine));
}

}  // namespace railweave::perf::net_perf
