// The dumps of one job, joined: one dump for each rank, and the groups that they have in common.
// Threads: const functions from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explain/dump.h"
#include "railweave/status.h"

namespace railweave::explain {

// A dump that does not count, and why.
struct LeftOut {
  std::string file, why;
};

class Job {
 public:
  // A group as one of its ranks sees it.
  struct Member {
    std::size_t dump = 0, group = 0;  // indices in dumps() and Dump::groups
  };
  struct Group {
    std::string name;
    RankList ranks;
    std::map<std::uint64_t, Member> members;  // by global rank; ranks without a dump are missing
  };
  // Joins `dumps`. A dump of an earlier run is left out: it is older than the first group of the newest process of its
  // host. Clocks of two hosts are never compared. Of a rank, the first dump that a failed group caused counts, else the
  // last dump.
  // Errors: invalid_argument (the groups have more than kRanksMost ranks together).
  static Result<Job> of(std::vector<Dump> dumps);

  const std::vector<Dump>& dumps() const { return dumps_; }  // by rank
  const std::vector<LeftOut>& left_out() const { return left_out_; }
  const std::vector<Group>& groups() const { return groups_; }
  // Returns the index in groups() of `operation`'s group. REQUIRES: `operation` is of dumps()[dump].
  std::size_t group_of(std::size_t dump, const Operation& operation) const {
    return group_numbers_[dump][operation.group];
  }
  // Returns the index in dumps(); none: the rank has no dump.
  std::optional<std::size_t> dump_of(std::uint64_t rank) const;
  // Ranks of the groups that have no dump, ascending.
  const std::vector<std::uint64_t>& missing() const { return missing_; }
  // All ranks of the groups.
  std::size_t ranks() const { return dumps_.size() + missing_.size(); }

 private:
  Job() = default;
  void choose(std::vector<Dump> dumps);
  Status join();

  std::vector<Dump> dumps_;
  std::vector<LeftOut> left_out_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::size_t>> group_numbers_;  // by dump and its own number of a group
  std::map<std::uint64_t, std::size_t> dump_numbers_;    // by rank
  std::vector<std::uint64_t> missing_;
};

}  // namespace railweave::explain
