#include "collective/rank.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/error.h"
#include "collective/bench.h"
#include "collective/memory_fit.h"
#include "collective/own_engine.h"
#include "collective/reporter.h"

namespace railweave::perf::collective {
namespace {

// Fills the columns where nccl-tests has a GPU: docs/internals/perf_programs.md.
DeviceEntry own_entry(const Options& options, const Place& place, int rank, int thread, const Engine& engine) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string host_name(host, std::string_view(host).find('.') == std::string_view::npos
                                        ? std::string_view(host).size()
                                        : std::string_view(host).find('.'));
  std::string rails;
  for (const Rail& rail : engine.rails()) rails += (rails.empty() ? "" : ",") + rail.name;
  // ".../0000:3b:00.1" names function 1 of a device.
  const std::string& path = engine.rails().front().pci_path;
  const std::string pci = path.substr(path.rfind('/') + 1);
  const std::string bus = pci.size() == 12 ? pci.substr(0, 10) : "0000:00:00";
  return {rank,
          0,
          int(::getpid()),
          host_name,
          place.process_on_host * options.ranks_here() + thread,
          bus,
          "host memory over " + rails};
}

// Sends the list of devices over the group as text.
Result<std::vector<DeviceEntry>> all_entries(Exchange& exchange, const DeviceEntry& mine) {
  RW_ASSIGN_OR_RETURN(const auto numbers, exchange.numbers({double(mine.pid), double(mine.device)}));
  RW_ASSIGN_OR_RETURN(const auto hosts, exchange.texts(mine.host));
  RW_ASSIGN_OR_RETURN(const auto buses, exchange.texts(mine.bus));
  RW_ASSIGN_OR_RETURN(const auto names, exchange.texts(mine.name));
  std::vector<DeviceEntry> entries;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    entries.push_back({int(r), 0, int(numbers[2 * r]), hosts[r], int(numbers[2 * r + 1]), buses[r], names[r]});
  }
  return entries;
}

// Every combination in the table, in nccl-tests' order: types, reductions, roots.
std::vector<Case> cases_of(const Operation& operation, const Options& options, int ranks) {
  std::vector<Case> cases;
  const std::vector<Reduction> none{Reduction::sum};
  for (const DataType type : options.types) {
    for (const Reduction reduction : operation.reduces ? options.reductions : none) {
      if (operation.reduces && !collectives::supports(type, reduction)) continue;
      const bool all_roots = operation.rooted && options.root < 0;
      const int first = all_roots ? 0 : operation.rooted ? options.root : 0;
      for (int root = first; root <= (all_roots ? ranks - 1 : first); ++root) {
        cases.push_back({type, reduction, root, options.min_bytes});
      }
    }
  }
  return cases;
}

}  // namespace

Status check_request(const Operation& operation, const Options& options, int ranks) {
  if (operation.rooted && options.root >= ranks) {
    return Status(Code::invalid_argument, Scope::request,
                  fmt::format("--root {}: there are {} ranks", options.root, ranks));
  }
  if (!cases_of(operation, options, ranks).empty()) return {};
  return Status(
      Code::invalid_argument, Scope::request,
      fmt::format("--op {}: not of {}", table_name(options.reductions.front()), table_name(options.types.front())));
}

Result<Summary> run_rows(const Operation& operation, const Options& options, Group& group, Reporter* reporter) {
  const std::vector<Case> cases = cases_of(operation, options, group.size());
  RW_ASSIGN_OR_RETURN(Bench bench, Bench::create(operation, options, group));
  Summary summary;
  summary.min_bandwidth = options.min_bandwidth;
  double busbw = 0;
  std::int64_t halves = 0;
  for (int cycle = 0; options.cycles == 0 || cycle < options.cycles; ++cycle) {
    for (const Case& first : cases) {
      RW_TRY(bench.warm_up(first));
      for (Case one = first; one.bytes <= options.max_bytes; one.bytes = options.after(one.bytes)) {
        if (reporter != nullptr) reporter->row(bench.row(one));
        for (const bool in_place : {false, true}) {
          RW_ASSIGN_OR_RETURN(const Measured measured, bench.measure(one, in_place, summary.failures));
          if (reporter != nullptr) reporter->measured(measured, in_place);
          busbw += measured.busbw;
          ++halves;
        }
        if (reporter != nullptr) reporter->row_end();
        if (options.min_bytes == options.max_bytes) break;  // for any step
      }
    }
  }
  summary.mean_busbw = halves > 0 ? busbw / double(halves) : 0;
  return summary;
}

Result<Summary> run_rank(const Operation& operation, const Options& options, const Place& place, int thread,
                         const std::vector<std::string>& command) {
  const int rank = place.process * options.ranks_here() + thread;
  const int ranks = place.processes * options.ranks_here();
  Options fitted = options;
  std::optional<Reporter> reporter;
  if (rank == 0) {
    reporter.emplace(operation, fitted, command);
    RW_TRY(reporter->claim_json_file());
  }
  RW_ASSIGN_OR_RETURN(const std::shared_ptr<Engine> engine, start_engine(place.one_machine));
  RW_ASSIGN_OR_RETURN(const std::shared_ptr<collectives::Store> store, place.open_store(rank));
  RW_ASSIGN_OR_RETURN(const std::shared_ptr<Group> group,
                      Group::create(engine, store, {"perf", rank, ranks, place.location.patience}));
  Exchange exchange(*group);
  const DeviceEntry own = own_entry(options, place, rank, thread, *engine);
  RW_ASSIGN_OR_RETURN(const auto entries, all_entries(exchange, own));
  RW_TRY(fit_to_memory(fitted, exchange, entries, own.host));
  if (reporter) reporter->begin(entries, fitted.max_bytes < options.max_bytes);
  RW_ASSIGN_OR_RETURN(const Summary summary, run_rows(operation, fitted, *group, reporter ? &*reporter : nullptr));
  if (reporter) RW_TRY(reporter->end(summary));
  RW_TRY(exchange.barrier());  // keeps this rank until every rank is done
  return summary;
}

}  // namespace railweave::perf::collective
