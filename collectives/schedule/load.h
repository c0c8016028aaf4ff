// An algorithm's use of network and cores, as input of the cost model. A Load is the same on every rank, so nothing
// that may differ between ranks (rank, in_place) enters it.
#pragma once

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

struct Load {
  double rounds_between = 0;  // messages between hosts, each of which waits for the one before
  double rounds_within = 0;   // the same within a host
  double bytes_between = 0;   // sent or received by the busiest host, whichever is more
  double bytes_within = 0;    // sent or received by the busiest rank within its host
  double messages = 0;        // sent and received by the busiest rank
  double filling_bytes = 0;   // bytes moved before a pipeline is full; not counted in the bytes above
  double reduced_bytes = 0;   // operand bytes read, and bytes copied, by the busiest rank
};

// The layout of a problem's ranks on hosts.
struct Topology {
  explicit Topology(const Problem& problem);
  int hosts = 1;
  int ranks_per_host = 1;  // on the host with the most
  int ring_exits = 0;      // ranks of one host whose successor is on another host, at most
};

// Bytes of the whole result, and the largest part of one rank in it.
double total_bytes(const Problem& problem);
double largest_bytes(const Problem& problem);
// Bytes of one message, if `bytes` are sent in chunks.
double one_chunk(const Problem& problem, double bytes);
// Bytes of the last chunk, if `bytes` arrive all at once and are reduced as they arrive. Its reduction overlaps with
// nothing.
double filling_at_the_end(const Problem& problem, double bytes);

// Traffic of the busiest rank: sent, or received if that is more.
struct Traffic {
  double bytes = 0;
  double rounds = 0;         // messages, each of which waits for the one before
  double sends = 0;          // messages, if none were cut into chunks
  double message_bytes = 0;  // of each message; longer ones are cut into chunks
};
// Every rank exchanges equal parts with all others.
Load all_pairs_load(const Problem& problem, const Traffic& traffic);
// Every rank sends to the next rank and receives from the previous one.
Load ring_load(const Problem& problem, const Traffic& traffic);
// One rank sends to, or receives from, all others in equal parts; the others hardly send.
Load root_load(const Problem& problem, const Traffic& traffic);
// A vector travels `ways` times within hosts, and once between hosts, to or from each rank's delegates. Each host sends
// and receives the part of `bytes_between` that is not its own.
Load two_level_load(const Problem& problem, double ways, double bytes_between);
// Operand bytes of the busiest rank, for reductions within each host and then between hosts.
double two_level_reduced_bytes(const Problem& problem);

}  // namespace railweave::collectives
