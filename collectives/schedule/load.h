// What an algorithm asks of the network and of the cores: what the cost model weighs. The same on every rank, so of
// nothing in which ranks may differ: not rank, not in_place.
#pragma once

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

struct Load {
  double rounds_between = 0;  // messages between hosts that wait for one another
  double rounds_within = 0;   // and within a host
  double bytes_between = 0;   // that the busiest host sends or receives, whichever is more
  double bytes_within = 0;    // that the busiest rank sends or receives within its host
  double messages = 0;        // sent and received by the busiest rank
  double filling_bytes = 0;   // that go ahead before a pipeline is full, and are not among those above
  double reduced_bytes = 0;   // operands read, and copied, by the busiest rank
};

// Where the ranks of a problem are.
struct Topology {
  explicit Topology(const Problem& problem);
  int hosts = 1;
  int ranks_per_host = 1;  // on the fullest
  int ring_exits = 0;      // of the host with most: its ranks whose successor is elsewhere
};

// Bytes of the result as a whole, and of the most that one rank has in it.
double total_bytes(const Problem& problem);
double largest_bytes(const Problem& problem);
// Bytes of one message, where so many bytes are sent in chunks.
double one_chunk(const Problem& problem, double bytes);
// Where `bytes` go all at once and are reduced as they come: the last chunk when all has come, with nothing left that
// could go on meanwhile.
double filling_at_the_end(const Problem& problem, double bytes);

// What the busiest rank sends, or receives if that is more.
struct Traffic {
  double bytes = 0;
  double rounds = 0;         // messages that wait for one another
  double sends = 0;          // messages if none were cut
  double message_bytes = 0;  // of each of them; longer ones than a chunk are cut
};
// In equal parts to and from all others.
Load all_pairs_load(const Problem& problem, const Traffic& traffic);
// To the next rank, and from the one before.
Load ring_load(const Problem& problem, const Traffic& traffic);
// One rank sends, or receives, and the others hardly do: in equal parts to all others.
Load root_load(const Problem& problem, const Traffic& traffic);
// A vector travels `ways` times within hosts, and once between hosts to or from each rank's delegates: of
// `bytes_between` each host sends and receives what is not its own.
Load two_level_load(const Problem& problem, double ways, double bytes_between);
// Operands of a reduction within each host, and then between hosts, at the busiest rank.
double two_level_reduced_bytes(const Problem& problem);

}  // namespace railweave::collectives
