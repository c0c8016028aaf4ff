// Dumps for tests, made by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "explain/job.h"

namespace railweave::explain {

inline GroupRecord made_group(const std::string& name, std::size_t rank, std::size_t ranks, std::uint64_t called) {
  GroupRecord group;
  group.name = name;
  group.ranks = RankList(0, 1, ranks);
  group.rank = rank;
  group.created_ns = 1000;
  group.called = called;
  group.completed = called - 1;
  return group;
}

// Returns an unfinished all_reduce for which a Python thread waits.
inline Operation made_call(std::size_t group, std::uint64_t number, std::vector<std::size_t> awaited) {
  Operation operation;
  operation.group = group;
  operation.name = "all_reduce";
  operation.number = number;
  operation.started = true;
  operation.awaited = std::move(awaited);
  operation.call = "all_reduce of float32 (sum)";
  operation.elements = {8};
  operation.dtypes = {"Float"};
  operation.has_waiter = true;
  operation.frames = {{"wait", "/x/torch/distributed/y.py", 1}, {"step", "/job/train.py", 40 + int(number)}};
  return operation;
}

// Returns a dump after a timeout of rank `rank` of the group "0", and its operations.
inline Dump made_dump(std::size_t rank, std::size_t ranks, std::uint64_t called, std::vector<Operation> operations) {
  Dump dump;
  dump.file = "railweave-h-" + std::to_string(rank) + ".json";
  dump.reason = "timeout";
  dump.why = "Timed out after 4000 ms";
  dump.host = "h";
  dump.pid = 100 + int(rank);
  dump.time_ns = 5000 + std::int64_t(rank);
  dump.groups = {made_group("0", rank, ranks, called)};
  dump.operations = std::move(operations);
  dump.main = {{"loop", "/job/data.py", 7}};
  dump.stacks_known = true;
  return dump;
}

// REQUIRES: dumps of fewer ranks than a job may have.
inline Job made_job(std::vector<Dump> dumps) { return std::move(Job::of(std::move(dumps)).value()); }

}  // namespace railweave::explain
