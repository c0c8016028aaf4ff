#include "explain/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "explain/dump_reader.h"

namespace railweave::explain {
namespace {

// Returns when the process made the first of its groups.
std::int64_t began_ns(const Dump& dump) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const GroupRecord& group : dump.groups) first = std::min(first, group.created_ns);
  return first;
}

// Returns true if `a` says more of the hang than `b`, both of one rank.
bool says_more(const Dump& a, const Dump& b) {
  const bool failed_a = a.reason != "asked", failed_b = b.reason != "asked";
  if (failed_a != failed_b) return failed_a;
  return failed_a ? a.time_ns < b.time_ns : a.time_ns > b.time_ns;
}

}  // namespace

Result<Job> Job::of(std::vector<Dump> dumps) {
  Job job;
  job.choose(std::move(dumps));
  RW_TRY(job.join());
  return job;
}

void Job::choose(std::vector<Dump> dumps) {
  std::map<std::string, std::int64_t> began;  // by host, because each host has a clock of its own
  for (const Dump& dump : dumps) {
    const auto [newest, fresh] = began.try_emplace(dump.host, began_ns(dump));
    if (!fresh) newest->second = std::max(newest->second, began_ns(dump));
  }
  std::map<std::uint64_t, Dump> chosen;
  for (Dump& dump : dumps) {
    if (dump.time_ns < began[dump.host]) {
      left_out_.push_back({dump.file, "made before the newest process of its host began: of an earlier run"});
      continue;
    }
    const auto [place, fresh] = chosen.try_emplace(dump.rank());
    if (!fresh && !says_more(dump, place->second)) std::swap(dump, place->second);
    if (!fresh) left_out_.push_back({place->second.file, "another dump of its rank says more"});
    place->second = std::move(dump);
  }
  for (auto& [rank, dump] : chosen) {
    dump_numbers_.emplace(rank, dumps_.size());
    dumps_.push_back(std::move(dump));
  }
}

Status Job::join() {
  std::map<std::pair<std::string, RankList>, std::size_t> known;
  for (std::size_t d = 0; d < dumps_.size(); ++d) {
    const std::vector<GroupRecord>& records = dumps_[d].groups;
    std::vector<std::size_t>& numbers = group_numbers_.emplace_back();
    for (std::size_t g = 0; g < records.size(); ++g) {
      const auto [place, fresh] = known.try_emplace({records[g].name, records[g].ranks}, groups_.size());
      if (fresh) groups_.push_back({records[g].name, records[g].ranks, {}});
      groups_[place->second].members[dumps_[d].rank()] = {d, g};
      numbers.push_back(place->second);
    }
  }
  std::set<std::uint64_t> missing;
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.ranks.size(); ++i) {
      if (!dump_numbers_.contains(group.ranks[i])) missing.insert(group.ranks[i]);
      if (dumps_.size() + missing.size() > kRanksMost)
        return Status(Code::invalid_argument, Scope::request,
                      fmt::format("found groups of more than {} ranks together, expected the dumps of one job; pass "
                                  "fewer files to find the wrong one",
                                  kRanksMost));
    }
  }
  missing_.assign(missing.begin(), missing.end());
  return {};
}

std::optional<std::size_t> Job::dump_of(std::uint64_t rank) const {
  const auto found = dump_numbers_.find(rank);
  return found == dump_numbers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace railweave::explain
