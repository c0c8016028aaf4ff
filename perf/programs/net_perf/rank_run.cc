#include "net_perf/rank_run.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "common/machine.h"
#include "common/report.h"

namespace railweave::perf::net_perf {

std::uint64_t flow_id(int sender, std::size_t index) { return std::uint64_t(sender) << 32 | index; }

std::optional<EngineCounters> RankRun::engine_counters() const {
  return plugin.is_railweave() && options.ranks.places.size() <= 1 ? read_engine_counters() : std::nullopt;
}

nlohmann::json rank_entry(const RankRun& run, const TimedBlock& block, const ProxyLoop& loop, const FlowSet& flows,
                          const std::optional<EngineCounters>& counters_before) {
  nlohmann::json entry = block.to_json(run.rank());
  entry["flows"] = nlohmann::json::array();
  const auto& accounts = loop.receive_accounts();
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    entry["flows"].push_back(
        flow_entry(1 - run.rank(), run.rank(), int(i), nullptr, accounts[i].bytes, accounts[i].seconds));
  }
  entry["sockets"] = open_sockets() - run.sockets_before;
  const auto counters = counters_before ? run.engine_counters() : std::nullopt;
  entry["engine"] = counters ? (*counters - *counters_before).to_json() : nullptr;
  const std::uint64_t messages = flows.totals.sent_messages + flows.totals.received_messages;
  entry["per_message"] = counters && messages > 0 ? (*counters - *counters_before).per_message(messages) : nullptr;
  entry["verified"] = {
      {"messages", flows.verified.messages}, {"bytes", flows.verified.bytes}, {"errors", flows.verified.errors}};
  return entry;
}

Result<nlohmann::json> join_ranks(const RankRun& run, nlohmann::json mine) {
  RW_ASSIGN_OR_RETURN(const std::string text, run.control.exchange(json_text(mine)));
  nlohmann::json other = nlohmann::json::parse(text);
  nlohmann::json verify;
  if (run.options.verify) {
    const auto sum = [&](const char* key) {
      return mine["verified"][key].get<std::uint64_t>() + other["verified"][key].get<std::uint64_t>();
    };
    verify = {{"messages_checked", sum("messages")}, {"bytes_checked", sum("bytes")}, {"errors", sum("errors")}};
  }
  mine.erase("verified");
  other.erase("verified");
  nlohmann::json result = run.rank() == 0 ? merge_ranks(std::move(mine), std::move(other), run.baseline_share)
                                          : merge_ranks(std::move(other), std::move(mine), run.baseline_share);
  result["verify"] = std::move(verify);
  result["both"] = run.options.both;
  result["size"] = run.options.size;
  result["inflight"] = run.options.inflight;
  result["comms"] = run.options.comms;
  return result;
}

}  // namespace railweave::perf::net_perf
