// What an algorithm asks of the network and of the cores, the same on every rank: what the cost model weighs.
#pragma once

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

struct Load {
  double rounds_between = 0;   // messages between hosts that wait for one another
  double rounds_within = 0;    // and within a host
  double bytes_between = 0;    // that the busiest host sends or receives, whichever is more
  double bytes_within = 0;     // that the busiest rank sends or receives within its host
  double messages = 0;         // sent and received by the busiest rank
  double message_bytes = 0;    // of one message: what a round adds to a pipeline
  double reduced_bytes = 0;    // operands read and copies made by the busiest rank
};

// Where the ranks of a problem are.
struct Topology {
  explicit Topology(const Problem& problem);
  int hosts = 1;
  int ranks_per_host = 1;      // on the fullest
  int ring_exits = 0;          // of the host with most: its ranks whose successor is elsewhere
};

// Bytes of the result as a whole, and of the most that one rank has in it.
double total_bytes(const Problem& problem);
double largest_bytes(const Problem& problem);

// Every rank sends and receives `bytes`, in equal parts to and from all others, in `rounds` rounds.
Load all_pairs_load(const Problem& problem, double bytes, double rounds, double message_bytes);
// Every rank sends `bytes` to the next and receives as many from the one before, in `rounds` rounds.
Load ring_load(const Problem& problem, double bytes, double rounds, double message_bytes);
// One rank sends (or receives) `bytes`, in equal parts to all others.
Load root_load(const Problem& problem, double bytes, double rounds, double message_bytes);

}  // namespace railweave::collectives
