// An operation as an algorithm sees it: no addresses, no data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railweave::collectives {

enum class Operation : std::uint8_t {
  all_gather,      // input: counts[rank] elements; output: all of them, in rank order
  reduce_scatter,  // input: sum of counts; output: counts[rank], reduced
  all_reduce,      // input, output: counts[0]
  broadcast,       // input (root only), output (every rank): counts[0]
  reduce,          // input: counts[0]; output (root only): counts[0]
  gather,          // input: counts[rank]; output (root only): all of them, in rank order
  scatter,         // input (root only): all of them, in rank order; output: counts[rank]
  all_to_all,      // counts[p]: to rank p, from the input in rank order; receive_counts[p]: from rank p, to the output
  barrier,         // nothing
};

inline constexpr int kOperations = 9;

constexpr bool reduces(Operation o) {
  return o == Operation::reduce_scatter || o == Operation::all_reduce || o == Operation::reduce;
}
constexpr bool has_root(Operation o) {
  return o == Operation::broadcast || o == Operation::reduce || o == Operation::gather || o == Operation::scatter;
}

struct Problem {
  Operation operation = Operation::barrier;
  int ranks = 1;
  int rank = 0;  // the rank whose schedule is built
  int root = 0;
  std::size_t element_bytes = 1;            // of raw and result elements
  std::size_t partial_bytes = 1;            // of partial sums; larger than element_bytes if sums must be rounded once
  std::vector<std::size_t> counts;          // elements; see Operation. all_to_all: this rank's
  std::vector<std::size_t> receive_counts;  // all_to_all only
  bool uniform = false;                     // all_to_all: all counts of all ranks are known to be equal
  // all_reduce, broadcast, reduce: output is input. all_gather, gather: input is the rank's own part of output.
  // reduce_scatter, scatter: output is the rank's own part of input. all_to_all: never in place.
  bool in_place = false;
  std::size_t chunk_bytes = 256 * 1024;  // of one message, at most, roughly
  std::vector<int> host_of;              // by rank; hosts are numbered in order of first appearance; empty: all differ

  friend bool operator==(const Problem&, const Problem&) = default;
};

}  // namespace railweave::collectives
