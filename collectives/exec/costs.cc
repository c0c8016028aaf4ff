#include "collectives/exec/costs.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "collectives/kernels/kernels.h"

namespace railweave::collectives {
namespace {

constexpr int kBarriers = 10;
constexpr std::size_t kGatheredBytes = 4 * MiB;   // received by each rank
constexpr std::size_t kReducedBytes = 256 * KiB;  // size of each operand
constexpr int kRepeats = 3;
constexpr Nanos kLatencyMin = std::chrono::microseconds(1);

template <class F>
Result<Nanos> fastest(int repeats, const F& work) {
  Nanos best = Nanos::max();
  for (int i = 0; i < repeats; ++i) {
    const TimePoint start = now();
    RW_TRY(work());
    best = std::min(best, now() - start);
  }
  return best;
}

// Waits for `work`. Aborts the group after `patience`: an unfinished operation may still access the caller's memory.
Status over(const WorkPtr& work, Nanos patience) {
  if (work->wait(patience).code() == Code::timed_out) work->abort();
  return work->status();
}

Result<Costs> measure(Group& group, Nanos patience) {
  Costs costs;
  const auto ranks = unsigned(group.size());
  RW_ASSIGN_OR_RETURN(const Nanos barriers, fastest(kRepeats, [&]() -> Status {
                        for (int i = 0; i < kBarriers; ++i) RW_TRY(over(group.barrier(), patience));
                        return {};
                      }));
  const Nanos round = barriers / kBarriers / std::max(1, int(std::bit_width(ranks - 1)));
  costs.latency_between = costs.latency_within = std::max<Nanos>(round - costs.step_overhead, kLatencyMin);

  const std::size_t each = std::max<std::size_t>(kGatheredBytes / (ranks - 1), 1);
  std::vector<std::byte> own(each), all(each * ranks);
  const auto gather = [&] { return over(group.all_gather(own.data(), all.data(), each, DataType::uint8), patience); };
  RW_TRY(gather());  // lanes learn their rates
  RW_ASSIGN_OR_RETURN(const Nanos gathered, fastest(kRepeats, gather));
  costs.rate_between = costs.rate_within = Rate::of(double(each) * double(ranks - 1), gathered);

  std::vector<float> left(kReducedBytes / sizeof(float), 1), right(left);
  const Operand operands[] = {{left.data(), false}, {right.data(), false}};
  RW_ASSIGN_OR_RETURN(const Nanos reduced, fastest(kRepeats, [&]() -> Status {
                        reduce({}, operands, left.data(), true, left.size());
                        return {};
                      }));
  costs.reduction = Rate::of(2 * double(kReducedBytes), reduced);
  return costs;
}

Mutex known_mutex;
std::map<std::vector<int>, Costs> known RW_GUARDED_BY(known_mutex);  // by the host of each rank

std::optional<Costs> known_for(const std::vector<int>& host_of) {
  const MutexLock lock(known_mutex);
  const auto it = known.find(host_of);
  return it == known.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace

Result<Costs> agree_on_costs(Group& group, Rendezvous& place, const std::vector<int>& host_of, Nanos patience) {
  if (group.size() == 1) return Costs{};
  const std::optional<Costs> cached = group.rank() == 0 ? known_for(host_of) : std::nullopt;
  RW_ASSIGN_OR_RETURN(const std::string agreed, place.agree("costs-known", cached ? to_text(*cached) : "measure"));
  if (agreed != "measure") return costs_from_text(agreed);
  RW_ASSIGN_OR_RETURN(const Costs measured, measure(group, patience));
  RW_ASSIGN_OR_RETURN(const std::string text, place.agree("costs", to_text(measured)));
  RW_ASSIGN_OR_RETURN(const Costs costs, costs_from_text(text));
  const MutexLock lock(known_mutex);
  known[host_of] = costs;
  return costs;
}

std::string to_text(const Costs& c) {
  return fmt::format("{} {} {} {} {} {}", c.latency_between.count(), c.latency_within.count(), c.step_overhead.count(),
                     c.rate_between.bytes_per_s, c.rate_within.bytes_per_s, c.reduction.bytes_per_s);
}

Result<Costs> costs_from_text(const std::string& text) {
  std::istringstream in(text);
  std::int64_t between = 0, within = 0, overhead = 0;
  Costs c;
  if (!(in >> between >> within >> overhead >> c.rate_between.bytes_per_s >> c.rate_within.bytes_per_s >>
        c.reduction.bytes_per_s))
    return Status(Code::remote, Scope::engine, "the costs of messages: found '" + text + "', expected six numbers");
  c.latency_between = Nanos(between);
  c.latency_within = Nanos(within);
  c.step_overhead = Nanos(overhead);
  return c;
}

}  // namespace railweave::collectives
