// trace_steps: runs a fixed number of steps like FSDP's among ranks that are threads of this process, with or without a
// trace. perf/programs/trace_cost/count counts the instructions.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/trace.h"
#include "collective/store_folder.h"
#include "collectives/group/group.h"
#include "common/command_line.h"
#include "common/console.h"
#include "common/sizes.h"
#include "railweave/config.h"
#include "railweave/endpoint.h"

namespace railweave::perf {
namespace {

using collectives::DataType;
using collectives::Group;
using collectives::Reduction;
using collectives::WorkPtr;

constexpr int kRanks = 2;
constexpr std::size_t kRecords = 1 << 20;

struct Options {
  int steps = 4, layers = 12;
  std::string bytes_text = "2M";
  bool trace = false;
};

// Gathers one layer ahead and waits for it; reduces behind, as in perf/programs/fsdp_replay.
Status step(Group& group, int layers, std::vector<float>& shards, std::vector<float>& whole) {
  const std::size_t shard = shards.size() / std::size_t(layers);
  const auto of = [&](std::vector<float>& all, int layer, std::size_t count) {
    return all.data() + std::size_t(layer) * count;
  };
  const auto gather = [&](int layer) {
    collectives::Hints urgent;
    urgent.priority = Priority::urgent;
    return group.all_gather(of(shards, layer, shard), of(whole, layer, shard * kRanks), shard, DataType::float32,
                            urgent);
  };
  WorkPtr next = gather(0);
  for (int layer = 0; layer < layers; ++layer) {
    const WorkPtr now = next;
    if (layer + 1 < layers) next = gather(layer + 1);
    RW_TRY(now->wait());
  }
  std::vector<WorkPtr> reductions;
  for (int layer = layers; layer-- > 0;)
    reductions.push_back(group.reduce_scatter(of(whole, layer, shard * kRanks), of(shards, layer, shard), shard,
                                              DataType::float32, Reduction::avg));
  for (const WorkPtr& work : reductions) RW_TRY(work->wait());
  return {};
}

Status run_rank(int rank, const std::string& folder, const Options& options, std::size_t bytes) {
  Config config;
  config.interfaces = "=lo";
  std::vector<float> shards(bytes / sizeof(float) / kRanks * std::size_t(options.layers), 1),
      whole(shards.size() * kRanks);
  RW_ASSIGN_OR_RETURN(const std::shared_ptr<Engine> engine, Engine::start(config));
  RW_ASSIGN_OR_RETURN(std::shared_ptr<collectives::Store> store, collectives::file_store(folder));
  RW_ASSIGN_OR_RETURN(const std::shared_ptr<Group> group, Group::create(engine, store, {"trace_steps", rank, kRanks}));
  for (int i = 0; i < options.steps; ++i) RW_TRY(step(*group, options.layers, shards, whole));
  return {};
}

Status run(const Options& options) {
  std::size_t bytes = 0;
  RW_TRY(take("--bytes", parse_size(options.bytes_text), bytes));
  RW_ASSIGN_OR_RETURN(const collective::StoreFolder folder, collective::StoreFolder::make());
  if (options.trace && !trace::start(kRecords)) return Status(Code::internal, Scope::engine, "a trace is on already");
  std::vector<Status> ended(kRanks);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&, rank] { ended[std::size_t(rank)] = run_rank(rank, folder.path(), options, bytes); });
  for (std::thread& rank : ranks) rank.join();
  say(stdout, "{} records\n", trace::stop().records.size());
  for (Status& status : ended) RW_TRY(std::move(status));
  return {};
}

}  // namespace
}  // namespace railweave::perf

int main(int argc, char** argv) {
  using namespace railweave::perf;
  Options options;
  const auto add = [&](CLI::App& app) {
    app.add_option("--steps", options.steps, "how many")->check(CLI::Range(1, 10'000))->capture_default_str();
    app.add_option("--layers", options.layers, "of which each gathers and reduces once a step")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    app.add_option("--bytes", options.bytes_text, "of a layer's parameters")->capture_default_str();
    app.add_flag("--trace", options.trace, "with a trace on");
  };
  if (const auto exit_status = parse_command_line(
          "Steps like FSDP's, to count instructions of (perf/programs/trace_cost/count).", add, argc, argv))
    return *exit_status;
  const railweave::Status status = run(options);
  if (!status.ok()) say(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
