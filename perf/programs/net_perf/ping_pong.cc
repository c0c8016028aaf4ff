#include "net_perf/ping_pong.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "common/idle.h"
#include "common/latency.h"
#include "common/machine.h"

namespace railweave::perf::net_perf {
namespace {

class Player {
 public:
  Player(SendFlow& out, RecvFlow& in, int sleep_us) : out_(out), in_(in), sleep_us_(sleep_us) {}

  Status serve(std::uint64_t trips) {
    in_.set_goal(in_.done() + trips);
    for (std::uint64_t i = 0; i < trips; ++i) {
      RW_TRY(await(in_.done() + 1));
      out_.set_goal(out_.posted() + 1);
    }
    return drain();
  }

  Status ask(std::uint64_t trips, LatencySamples& samples, std::uint64_t unmeasured) {
    in_.set_goal(in_.done() + trips);
    for (std::uint64_t i = 0; i < trips; ++i) {
      const TimePoint start = now();
      out_.set_goal(out_.posted() + 1);
      RW_TRY(await(in_.done() + 1));
      if (i >= unmeasured) samples.add(now() - start);
    }
    return drain();
  }

 private:
  // Waits until `received` messages have arrived.
  Status await(std::uint64_t received) {
    while (in_.done() < received) RW_TRY(pass());
    return {};
  }
  Status drain() {
    while (!out_.at_goal() || !in_.at_goal()) RW_TRY(pass());
    return {};
  }
  Status pass() {
    RW_ASSIGN_OR_RETURN(const bool sent, out_.step());
    RW_ASSIGN_OR_RETURN(const bool received, in_.step());
    if (!sent && !received) idle(sleep_us_);
    return {};
  }

  SendFlow& out_;
  RecvFlow& in_;
  int sleep_us_;
};

Result<nlohmann::json> measure_size(const RankRun& run, FlowSet& flows, std::size_t size) {
  const auto trips = std::uint64_t(run.options.iterations), unmeasured = trips / 10 + 1;
  LatencySamples samples(trips);
  Player player(*flows.sends[0], *flows.receives[0], run.options.sleep_us);
  const auto counters_before = run.engine_counters();
  RW_TRY(run.control.barrier());
  const CpuUse before = cpu_use();
  RW_TRY(run.rank() == 0 ? player.ask(unmeasured + trips, samples, unmeasured) : player.serve(unmeasured + trips));
  const CpuUse used = cpu_use() - before;
  const auto counters = counters_before ? run.engine_counters() : std::nullopt;
  nlohmann::json mine = {{"rank", run.rank()}, {"cpu_user_s", used.user_s}, {"cpu_sys_s", used.system_s}};
  mine["per_message"] = counters ? (*counters - *counters_before).per_message(2 * (unmeasured + trips)) : nullptr;
  RW_ASSIGN_OR_RETURN(const std::string text, run.control.exchange(mine.dump()));
  const nlohmann::json other = nlohmann::json::parse(text);
  const auto ranks = run.rank() == 0 ? nlohmann::json::array({mine, other}) : nlohmann::json::array({other, mine});
  return nlohmann::json{{"size", size},
                        {"iterations", trips},
                        {"rtt_us", samples.to_json()},
                        {"cpu", {{"machine_busy_s", used.machine_busy_s}}},
                        {"ranks", ranks}};
}

}  // namespace

Result<nlohmann::json> measure_ping_pong(const RankRun& run) {
  const Options& options = run.options;
  nlohmann::json results = nlohmann::json::array();
  for (const std::size_t size : options.sizes) {
    const MessageSizes sizes = MessageSizes::fixed(size);
    std::optional<Pattern> pattern;
    if (options.verify) pattern.emplace(size, options.seed);
    RW_ASSIGN_OR_RETURN(const Links links, Links::open(run.plugin, run.control, 1, 1));
    FlowSet flows;
    const FlowContext context{run.plugin.net(), &sizes,       pattern ? &*pattern : nullptr,
                              options.inflight, flows.totals, flows.verified};
    RW_TRY(add_flows(flows, context, links, run.rank(), [&]() -> Result<std::unique_ptr<MessageMemory>> {
      RW_ASSIGN_OR_RETURN(Pages pages, Pages::allocate(RingMemory::bytes_for(std::size_t(options.inflight), size)));
      return std::unique_ptr<MessageMemory>(std::make_unique<RingMemory>(std::move(pages)));
    }));
    RW_ASSIGN_OR_RETURN(nlohmann::json result, measure_size(run, flows, size));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace railweave::perf::net_perf
