#include "info/watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>

#include "base/clock.h"
#include "base/error.h"
#include "common/console.h"
#include "engine/stats/stats_client.h"
#include "info/process_report.h"
#include "info/text_table.h"

namespace railweave::info {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(2);

struct Sample {
  EngineStats stats;
  TimePoint at;
};

// Blocks the signals that end a watch, so that wait() receives them.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  ~StopSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns false if a signal came before `time` was over.
  bool wait(Nanos time) const {
    const TimePoint end = now() + time;
    for (Nanos left = time; left.count() > 0; left = end - now()) {
      const timespec span{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
      if (sigtimedwait(&signals_, nullptr, &span) >= 0) return false;
    }
    return true;
  }

 private:
  sigset_t signals_, before_;
};

std::string change_text(const Sample& before, const Sample& after) {
  const auto rate = [&](std::uint64_t later, std::uint64_t earlier) {
    const double bytes = later > earlier ? double(later - earlier) : 0;  // a rail's lanes may have been replaced
    return speed_text(Rate::of(bytes, after.at - before.at).megabits());
  };
  const std::map<std::string, RailTotals> old = totals_by_rail(before.stats);
  TextTable table({"RAIL", ">LANES", ">SENDING", ">RECEIVING", ">IN FLIGHT", ">RETRANSMITS"});
  for (const auto& [name, rail] : totals_by_rail(after.stats)) {
    const auto found = old.find(name);
    const RailTotals was = found == old.end() ? RailTotals{} : found->second;
    table.add({name, std::to_string(rail.lanes), rate(rail.bytes_sent, was.bytes_sent),
               rate(rail.bytes_received, was.bytes_received), size_text(double(rail.outstanding_bytes)),
               std::to_string(rail.retransmits)});
  }
  const Nanos oldest = oldest_request_age(after.stats);
  return table.text() +
         (oldest.count() > 0 ? fmt::format("  oldest request: {}\n", time_text(double(oldest.count()))) : "");
}

Result<Sample> sample(const RunningEngine& engine) {
  RW_ASSIGN_OR_RETURN(EngineStats stats, engine::fetch_stats(engine.path, kPatience));
  return Sample{std::move(stats), now()};
}

}  // namespace

Status watch(const std::vector<RunningEngine>& engines, Nanos period, bool json) {
  const StopSignals stop;
  std::map<std::string, Sample> last;
  for (const RunningEngine& engine : engines) {
    RW_ASSIGN_OR_RETURN(last[engine.path], sample(engine));
  }
  while (stop.wait(period)) {
    for (const RunningEngine& engine : engines) {
      Result<Sample> next = sample(engine);
      if (!next.ok()) {
        perf::say(stderr, "process {} no longer answers: {}\n", engine.pid, next.status().message());
        return Status();
      }
      Sample& before = last[engine.path];
      perf::say("{}\n", json ? json_text(process_json(engine, next->stats)) : change_text(before, next.value()));
      before = std::move(next.value());
    }
    std::fflush(stdout);
  }
  return Status();
}

}  // namespace railweave::info
