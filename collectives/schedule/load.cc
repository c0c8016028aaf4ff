#include "collectives/schedule/load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace railweave::collectives {
namespace {

double messages_for(const Problem& problem, double bytes, double message_bytes) {
  return std::ceil(bytes / std::max(1.0, one_chunk(problem, message_bytes)));
}

Load basic(const Problem& problem, const Topology& where, const Traffic& traffic) {
  Load load;
  (where.hosts > 1 ? load.rounds_between : load.rounds_within) = traffic.rounds;
  load.messages = 2 * std::max(traffic.sends, messages_for(problem, traffic.bytes, traffic.message_bytes));
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

double one_chunk(const Problem& problem, double bytes) { return std::min(bytes, double(problem.chunk_bytes)); }

double filling_at_the_end(const Problem& problem, double bytes) {
  return bytes > 2 * double(problem.chunk_bytes) ? one_chunk(problem, bytes) : 0;
}

Load all_pairs_load(const Problem& problem, const Traffic& traffic) {
  const Topology where(problem);
  Load load = basic(problem, where, traffic);
  const double others = std::max(1, problem.ranks - 1);
  load.bytes_within = traffic.bytes * (where.ranks_per_host - 1) / others;
  load.bytes_between = traffic.bytes * where.ranks_per_host * (problem.ranks - where.ranks_per_host) / others;
  return load;
}

Load ring_load(const Problem& problem, const Traffic& traffic) {
  const Topology where(problem);
  Load load = basic(problem, where, traffic);
  load.bytes_within = where.ranks_per_host > 1 ? traffic.bytes : 0;
  load.bytes_between = traffic.bytes * where.ring_exits;
  return load;
}

Load root_load(const Problem& problem, const Traffic& traffic) {
  const Topology where(problem);
  Load load = basic(problem, where, traffic);
  load.messages /= 2;
  const double others = std::max(1, problem.ranks - 1);
  load.bytes_within = traffic.bytes * (where.ranks_per_host - 1) / others;
  load.bytes_between = traffic.bytes * (problem.ranks - where.ranks_per_host) / others;
  return load;
}

Load two_level_load(const Problem& problem, double ways, double bytes_between) {
  const Topology where(problem);
  const double total = total_bytes(problem), ranks = problem.ranks, members = where.ranks_per_host;
  Load load;
  load.rounds_between = load.rounds_within = ways;
  load.bytes_between = bytes_between * (ranks - members) / ranks;
  load.bytes_within = ways * total * (members - 1) / members;
  load.filling_bytes = one_chunk(problem, total / ranks);
  // Each shard is exchanged in pieces with the other ranks of the host, and with this rank's share of the other hosts.
  const double peers = ways * (ranks * (members - 1) / members + where.hosts - 1);
  load.messages = 2 * peers * std::max(1.0, messages_for(problem, total / ranks, total / ranks));
  return load;
}

double two_level_reduced_bytes(const Problem& problem) {
  const Topology where(problem);
  return total_bytes(problem) *
         (1 + double(problem.partial_bytes) / double(problem.element_bytes) * where.hosts / problem.ranks);
}

}  // namespace railweave::collectives
