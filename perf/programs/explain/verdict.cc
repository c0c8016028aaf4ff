#include "explain/verdict.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace railweave::explain {
namespace {

// Every rank with the operation in which it hangs.
std::vector<Waiting> hanging(const Job& job) {
  std::vector<Waiting> all;
  for (std::size_t d = 0; d < job.dumps().size(); ++d)
    if (const Operation* const operation = hangs_in(job.dumps()[d]))
      all.push_back({job.dumps()[d].rank(), d, operation});
  return all;
}

std::set<std::size_t> groups_of(const Job& job, const std::vector<Waiting>& waiting) {
  std::set<std::size_t> groups;
  for (const Waiting& one : waiting) groups.insert(job.group_of(one.dump, *one.operation));
  return groups;
}

Verdict of_mismatch(const Job& job, const Mismatch& found) {
  Verdict verdict{.cause = found.sizes_only ? Cause::other_sizes : Cause::other_operation,
                  .culprits = {},
                  .groups = {found.group},
                  .examples = {},
                  .classes = found.classes};
  const bool undecided = found.classes[0].ranks.size() == found.classes[1].ranks.size();
  for (const Mismatch::Class& one : found.classes) {
    const std::uint64_t rank = one.ranks.front();
    verdict.examples.push_back({rank, *job.dump_of(rank), one.call});
    if (&one != &found.classes.front() || undecided)
      verdict.culprits.insert(verdict.culprits.end(), one.ranks.begin(), one.ranks.end());
  }
  std::ranges::sort(verdict.culprits);
  return verdict;
}

// Returns a verdict on `culprits`, with a rank that waits as the example.
Verdict of_ranks(const Job& job, Cause cause, const std::set<std::uint64_t>& culprits) {
  Verdict verdict;
  verdict.cause = cause;
  verdict.culprits.assign(culprits.begin(), culprits.end());
  for (const Waiting& one : hanging(job)) {
    if (culprits.contains(one.rank)) continue;
    const std::size_t group = job.group_of(one.dump, *one.operation);
    const RankList& ranks = job.groups()[group].ranks;
    if (!std::ranges::any_of(culprits, [&](std::uint64_t rank) { return ranks.index_of(rank).has_value(); })) continue;
    verdict.examples.push_back(one);
    verdict.groups.push_back(group);
    break;
  }
  return verdict;
}

Cause of_missing(const Job& job) {
  const auto timed_out = [](const Dump& dump) { return dump.reason == "timeout"; };
  const auto failed = [](const Dump& dump) { return dump.reason == "failed"; };
  if (std::ranges::any_of(job.dumps(), timed_out)) return Cause::silent;
  return std::ranges::any_of(job.dumps(), failed) ? Cause::lost : Cause::silent;
}

// What ranks of a circle are in, as far as it tells apart which of them left the common order.
using Place = std::tuple<std::size_t, bool, std::string>;

Place place_of(const Job& job, const Waiting& one) {
  const Operation& operation = *one.operation;
  return {job.group_of(one.dump, operation), operation.is_message, operation.is_message ? "" : operation.name};
}

// Ranks that wait in a circle. If most ranks hang in one place, the others of the circle are the culprits.
Verdict of_circle(const Job& job, const std::vector<Waiting>& circle) {
  std::map<Place, std::set<std::uint64_t>> places;
  for (const Waiting& one : circle) places[place_of(job, one)].insert(one.rank);
  Verdict verdict;
  const std::set<std::size_t> groups = groups_of(job, circle);
  verdict.groups.assign(groups.begin(), groups.end());
  if (places.size() == 1 && !circle.front().operation->is_message) {
    verdict.cause = Cause::stalled;
    verdict.examples = {circle.front()};
    return verdict;
  }
  for (const Waiting& one : hanging(job))
    if (const auto place = places.find(place_of(job, one)); place != places.end()) place->second.insert(one.rank);
  const auto by_ranks = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto most = std::ranges::max_element(places, by_ranks);
  const auto as_many =
      std::ranges::count_if(places, [&](const auto& p) { return p.second.size() == most->second.size(); });
  const bool undecided = places.size() == 1 || as_many > 1;
  verdict.cause = groups.size() == 1 && !undecided ? Cause::other_operation : Cause::deadlock;
  std::set<std::uint64_t> culprits;
  for (const auto& [place, ranks] : places)
    if (undecided || &ranks != &most->second) culprits.insert(ranks.begin(), ranks.end());
  verdict.culprits.assign(culprits.begin(), culprits.end());
  std::set<Place> shown;
  for (const bool of_culprits : {false, true})
    for (const Waiting& one : circle)
      if (culprits.contains(one.rank) == of_culprits && shown.insert(place_of(job, one)).second)
        verdict.examples.push_back(one);
  return verdict;
}

}  // namespace

std::string_view name(Cause cause) {
  switch (cause) {
    case Cause::other_operation: return "other_operation";
    case Cause::other_sizes: return "other_sizes";
    case Cause::lost: return "lost";
    case Cause::silent: return "silent";
    case Cause::absent: return "absent";
    case Cause::deadlock: return "deadlock";
    case Cause::stalled: return "stalled";
    default: return "unknown";
  }
}

Verdict judge(const Job& job) {
  if (const auto found = find_mismatch(job)) return of_mismatch(job, *found);
  const Waits waits = follow_waits(job);
  if (!waits.without_dump.empty()) return of_ranks(job, of_missing(job), waits.without_dump);
  if (!waits.elsewhere.empty()) return of_ranks(job, Cause::absent, waits.elsewhere);
  if (!waits.circles.empty()) return of_circle(job, waits.circles.front());
  if (!job.missing().empty()) return of_ranks(job, of_missing(job), {job.missing().begin(), job.missing().end()});
  if (!waits.finished.empty()) {
    Verdict verdict = of_ranks(job, Cause::stalled, waits.finished);
    verdict.culprits.clear();
    return verdict;
  }
  return {};
}

}  // namespace railweave::explain
