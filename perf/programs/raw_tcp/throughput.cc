#include "raw_tcp/throughput.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "common/idle.h"
#include "common/report.h"
#include "raw_tcp/flow.h"
#include "raw_tcp/sockets.h"

namespace railweave::perf::raw_tcp {
namespace {

constexpr std::uint64_t kCountedWarmupBytes = 8 << 20;

Result<std::vector<Flow>> make_flows(const std::vector<Connection>& connections, int rank, const Options& options) {
  const FlowPlan plan{options.size, options.inflight, options.recv_size};
  const int per_rail = options.both ? 2 : 1;
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const auto direction = int(i) % per_rail == rank ? Flow::Direction::out : Flow::Direction::in;
    RW_ASSIGN_OR_RETURN(Pages pages, Pages::allocate(std::size_t(plan.buffers) * slot_bytes(plan.message_bytes)));
    flows.emplace_back(connections[i].socket.get(), direction, connections[i].rail, plan, std::move(pages));
  }
  return flows;
}

class Measurement {
 public:
  Measurement(const Options& options, int rank, std::vector<Flow> flows, InterfaceSampler interfaces,
              TimedCommands commands)
      : options_(options),
        rank_(rank),
        flows_(std::move(flows)),
        block_(options.block_plan(), std::move(interfaces)),
        commands_(std::move(commands)) {
    at_begin_.resize(flows_.size());
    in_block_.resize(flows_.size());
    took_s_.resize(flows_.size());
    if (options_.counted()) {
      for (Flow& flow : flows_) flow.stop_at(kCountedWarmupBytes + options.bytes);
    }
  }

  Status run() {
    if (!options_.counted()) block_.start(now());
    while (std::any_of(flows_.begin(), flows_.end(), [](const Flow& f) { return !f.over(); })) {
      RW_ASSIGN_OR_RETURN(const bool moved, step_all());
      const TimePoint t = now();
      if (options_.counted()) start_counted(t);
      note(block_.tick(t, totals_), t);
      if (rank_ == 0 && block_.began() && !block_.ended()) commands_.tick(t - block_.began_at());
      if (block_.ended() && t > stop_after_) stop_sending();
      if (!moved) idle(options_.sleep_us, totals_);
    }
    if (block_.began() && !block_.ended()) end_block(now());
    if (!block_.ended()) return Status(Code::remote, Scope::engine, "the other rank stopped before the timed block");
    return {};
  }

  nlohmann::json to_json() {
    nlohmann::json entry = block_.to_json(rank_);
    entry["flows"] = nlohmann::json::array();
    nlohmann::json sockets = nlohmann::json::array();
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const Flow& flow = flows_[i];
      const bool out = flow.direction() == Flow::Direction::out;
      sockets.push_back({{"rail", flow.rail()},
                         {"direction", out ? "out" : "in"},
                         {"calls", flow.calls()},
                         {"retransmits", retransmits_of(flow.socket())}});
      if (!out) entry["flows"].push_back(flow_entry(1 - rank_, rank_, int(i), flow.rail(), in_block_[i], took_s_[i]));
    }
    entry["socket_list"] = std::move(sockets);
    entry["sockets"] = flows_.size();
    if (rank_ == 0) entry["events"] = commands_.finish();
    return entry;
  }

 private:
  Result<bool> step_all() {
    bool moved = false;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      Flow& flow = flows_[i];
      if (flow.over()) continue;
      const std::uint64_t before = flow.moved_bytes();
      RW_ASSIGN_OR_RETURN(const bool some, flow.step());
      const std::uint64_t n = flow.moved_bytes() - before;
      (flow.direction() == Flow::Direction::out ? totals_.sent_bytes : totals_.received_bytes) += n;
      if (flow.over() && block_.began() && !block_.ended()) close_account(i, now());
      moved |= some;
    }
    ++totals_.passes;
    totals_.received_messages = totals_.received_bytes / options_.size;
    totals_.sent_messages = totals_.sent_bytes / options_.size;
    return moved;
  }

  // Begins a block of counted bytes once every flow has passed its warm-up.
  void start_counted(TimePoint t) {
    if (block_.began()) return;
    for (const Flow& flow : flows_) {
      if (flow.moved_bytes() < kCountedWarmupBytes) return;
    }
    block_.start(t);
  }

  void note(TimedBlock::Edge edge, TimePoint t) {
    if (edge == TimedBlock::Edge::begins) {
      for (std::size_t i = 0; i < flows_.size(); ++i) at_begin_[i] = flows_[i].moved_bytes();
    } else if (edge == TimedBlock::Edge::ends) {
      close_accounts(t);
    }
  }

  void close_account(std::size_t i, TimePoint t) {
    in_block_[i] = flows_[i].moved_bytes() - at_begin_[i];
    took_s_[i] = double((t - block_.began_at()).count()) / 1e9;
  }

  void close_accounts(TimePoint t) {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (took_s_[i] == 0) close_account(i, t);
    }
    stop_after_ = t + kTail;
  }

  void end_block(TimePoint t) {
    block_.end(t, totals_);
    close_accounts(t);
  }

  void stop_sending() {
    for (Flow& flow : flows_) {
      if (flow.direction() == Flow::Direction::out) flow.stop_now();
    }
  }

  const Options& options_;
  int rank_;
  std::vector<Flow> flows_;
  std::vector<std::uint64_t> at_begin_, in_block_;
  std::vector<double> took_s_;  // 0: still open
  Totals totals_;
  TimedBlock block_;
  TimedCommands commands_;
  TimePoint stop_after_ = TimePoint::max();
};

}  // namespace

Result<nlohmann::json> measure_throughput(ControlConnection& control, const std::vector<RailAddress>& rails,
                                          const Options& options, double baseline_share) {
  RW_ASSIGN_OR_RETURN(auto connections, open_connections(control, rails, options.both ? 2 : 1, options));
  RW_ASSIGN_OR_RETURN(InterfaceSampler interfaces, InterfaceSampler::open());
  RW_ASSIGN_OR_RETURN(TimedCommands commands, TimedCommands::parse(options.at));
  const int rank = control.rank();
  RW_ASSIGN_OR_RETURN(std::vector<Flow> flows, make_flows(connections, rank, options));
  Measurement measurement(options, rank, std::move(flows), std::move(interfaces), std::move(commands));
  RW_TRY(control.barrier());
  options.wait_to_begin();
  RW_TRY(measurement.run());
  const nlohmann::json mine = measurement.to_json();
  RW_ASSIGN_OR_RETURN(const std::string text, control.exchange(json_text(mine)));
  nlohmann::json other = nlohmann::json::parse(text);
  nlohmann::json result = rank == 0 ? merge_ranks(mine, std::move(other), baseline_share)
                                    : merge_ranks(std::move(other), mine, baseline_share);
  nlohmann::json names = nlohmann::json::array();
  for (const auto& rail : rails) names.push_back(rail.label);
  result["rails"] = std::move(names);
  result["both"] = options.both;
  result["size"] = options.size;
  result["inflight"] = options.inflight;
  result["congestion_control"] = congestion_control_of(connections[0].socket.get());
  return result;
}

}  // namespace railweave::perf::raw_tcp
