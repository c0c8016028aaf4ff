// One call of an operation, as its caller made it: checked, and put into the terms of an algorithm.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/group/group.h"
#include "collectives/kernels/kernels.h"
#include "collectives/schedule/problem.h"
#include "railweave/status.h"

namespace railweave::collectives {

struct Call {
  Problem problem;
  Reducing how;  // type always; the rest where something is reduced
  const void* input = nullptr;
  void* output = nullptr;
  Hints hints;

  // Bytes that this rank reads and writes.
  std::size_t input_bytes() const;
  std::size_t output_bytes() const;
  std::size_t most_bytes() const;  // the larger of these
  // Bytes of all ranks' parts together, the same on every rank. Of an all_to_all_v only what this rank sends is known.
  std::size_t agreed_bytes() const;
  // Urgent and small: in chunks so short that they go without a grant. The same on every rank, so never an all_to_all.
  bool wants_short_chunks() const;
};

// Errors: invalid_argument, saying which argument was found how. Sets Problem::in_place; refuses any other overlap.
Status check(Call& call);

}  // namespace railweave::collectives
