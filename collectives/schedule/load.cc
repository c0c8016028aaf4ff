#include "collectives/schedule/load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace railweave::collectives {
namespace {

// A message is no longer than a chunk.
double messages_for(const Problem& problem, double bytes, double message_bytes) {
  const double most = std::clamp(message_bytes, 1.0, double(std::max<std::size_t>(problem.chunk_bytes, 1)));
  return std::ceil(bytes / most);
}

Load basic(const Problem& problem, double bytes, double rounds, double message_bytes) {
  const Topology where(problem);
  Load load;
  (where.hosts > 1 ? load.rounds_between : load.rounds_within) = rounds;
  load.message_bytes = std::min(message_bytes, double(problem.chunk_bytes));
  load.messages = 2 * std::max(rounds, messages_for(problem, bytes, message_bytes));
  return load;
}

}  // namespace

Topology::Topology(const Problem& problem) {
  const std::vector<int>& host_of = problem.host_of;
  if (host_of.empty()) {
    hosts = problem.ranks;
    ring_exits = hosts > 1 ? 1 : 0;
    return;
  }
  hosts = *std::max_element(host_of.begin(), host_of.end()) + 1;
  std::vector<int> ranks(std::size_t(hosts), 0), exits(std::size_t(hosts), 0);
  for (std::size_t r = 0; r < host_of.size(); ++r) {
    ++ranks[std::size_t(host_of[r])];
    if (host_of[(r + 1) % host_of.size()] != host_of[r]) ++exits[std::size_t(host_of[r])];
  }
  ranks_per_host = *std::max_element(ranks.begin(), ranks.end());
  ring_exits = *std::max_element(exits.begin(), exits.end());
}

double total_bytes(const Problem& problem) {
  const std::size_t elements = std::accumulate(problem.counts.begin(), problem.counts.end(), std::size_t{0});
  return double(elements) * double(problem.element_bytes);
}

double largest_bytes(const Problem& problem) {
  if (problem.counts.empty()) return 0;
  return double(*std::max_element(problem.counts.begin(), problem.counts.end())) * double(problem.element_bytes);
}

Load all_pairs_load(const Problem& problem, double bytes, double rounds, double message_bytes) {
  Load load = basic(problem, bytes, rounds, message_bytes);
  const Topology where(problem);
  const double others = std::max(1, problem.ranks - 1);
  load.messages = std::max(load.messages, 2 * others);
  load.bytes_within = bytes * (where.ranks_per_host - 1) / others;
  load.bytes_between = bytes * where.ranks_per_host * (problem.ranks - where.ranks_per_host) / others;
  return load;
}

Load ring_load(const Problem& problem, double bytes, double rounds, double message_bytes) {
  Load load = basic(problem, bytes, rounds, message_bytes);
  const Topology where(problem);
  load.bytes_within = where.ranks_per_host > 1 ? bytes : 0;
  load.bytes_between = bytes * where.ring_exits;
  return load;
}

Load root_load(const Problem& problem, double bytes, double rounds, double message_bytes) {
  Load load = basic(problem, bytes, rounds, message_bytes);
  const Topology where(problem);
  const double others = std::max(1, problem.ranks - 1);
  load.bytes_within = bytes * (where.ranks_per_host - 1) / others;
  load.bytes_between = bytes * (problem.ranks - where.ranks_per_host) / others;
  return load;
}

}  // namespace railweave::collectives
