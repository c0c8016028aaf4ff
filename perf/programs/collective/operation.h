// The differences between the nine programs: one entry per operation, in operations/.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "collectives/group/group.h"

namespace railweave::perf::collective {

using collectives::DataType;
using collectives::Group;
using collectives::Reduction;
using collectives::WorkPtr;

// The counts, in elements, that a size on the command line becomes, rounded as nccl-tests rounds it.
struct Shape {
  std::size_t send = 0, receive = 0;  // of one rank's memory
  std::size_t count = 0;              // as the table shows and the call takes it
  // In place: where rank 1's part begins in the input and in the output; rank r's begins r times as far.
  std::size_t send_in_place = 0, receive_in_place = 0;
};

// The arguments of one call on one rank.
struct Call {
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  DataType type = DataType::float32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  double factor = 1;
};

// A run of the output with known contents: elements of one rank's input, or of all inputs reduced.
struct Expected {
  std::size_t offset = 0, count = 0;  // in the output
  int source = -1;                    // rank of the input; -1: all inputs, reduced
  std::size_t phase = 0;              // index of the first element in the input
};

struct Asking {
  int rank = 0, ranks = 1, root = 0;
  std::size_t count = 0;
};

struct Operation {
  std::string_view program;       // "all_reduce_perf"
  std::string_view name;          // name in the results: "AllReduce"
  bool reduces = false;           // the table names the reduction
  bool rooted = false;            // the table names the root
  bool in_place = true;           // false: no in-place form; its columns repeat out of place, unchecked
  bool counts_all_ranks = false;  // the bytes of algbw are count times ranks
  Shape (*shape)(std::size_t elements, std::size_t element_bytes, int ranks) = nullptr;
  double (*bus_factor)(int ranks) = nullptr;  // busbw / algbw
  // Issues the operation and appends its works. The caller waits for all of them.
  void (*start)(Group& group, const Call& call, std::vector<WorkPtr>& works) = nullptr;
  std::vector<Expected> (*expected)(const Asking& asking) = nullptr;
};

const Operation& all_gather();
const Operation& all_reduce();
const Operation& reduce_scatter();
const Operation& broadcast();
const Operation& reduce();
const Operation& alltoall();
const Operation& sendrecv();
const Operation& gather();
const Operation& scatter();

// --- shared by several operations
inline Shape same_everywhere(std::size_t elements, std::size_t, int) { return {elements, elements, elements, 0, 0}; }
// Returns one rank's share in elements, in whole 16-byte units.
inline std::size_t aligned_share(std::size_t elements, std::size_t element_bytes, int ranks) {
  return elements / std::size_t(ranks) & ~(16 / element_bytes - 1);
}
inline double once(int) { return 1; }
inline double without_own_share(int ranks) { return double(ranks - 1) / ranks; }
// Converts (bytes, seconds) to GB/s.
inline double gigabytes_per_s(double bytes, double seconds) { return seconds > 0 ? bytes / seconds / 1e9 : 0; }

}  // namespace railweave::perf::collective
