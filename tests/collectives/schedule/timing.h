// How long schedules take on a simple machine. Each rank sends one message after the other at one rate, to its peers in
// turn, receives one after the other, and has one core for the rest. Messages start when both sides have posted them.
#pragma once

#include <vector>

#include "collectives/schedule/cost_model.h"

namespace railweave::collectives {

struct Machine {
  double latency_s = 100e-6;
  double bytes_per_s = 500e6;   // each way
  double operands_per_s = 8e9;  // bytes of operands reduced, or copied, by a core
  std::size_t window = 32;      // messages posted at once, to a peer and from a peer
};

// Returns the seconds until every step of every rank is done. REQUIRES: the schedules end.
double duration_s(const std::vector<Problem>& problems, const std::vector<Schedule>& schedules, const Machine& machine);

// Returns the most bytes that any rank sends or receives.
double bytes_each_way(const std::vector<Problem>& problems, const std::vector<Schedule>& schedules);

}  // namespace railweave::collectives
