// One call of an operation: the caller's arguments, in the terms of an algorithm. A plain value.
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
  Reducing how;  // the type is always set, the other fields where the operation reduces
  const void* input = nullptr;
  void* output = nullptr;
  Hints hints;

  // Bytes that this rank reads, and writes.
  std::size_t input_bytes() const;
  std::size_t output_bytes() const;
  std::size_t most_bytes() const;  // the larger of the two
  // Bytes of all ranks' parts together, the same on every rank. Exception: for an all_to_all_v, this rank's sends only.
  std::size_t agreed_bytes() const;
  // True for urgent, small operations: their chunks are to be so short that a sender needs no grant. The same on every
  // rank, so false for an all_to_all.
  bool wants_short_chunks() const;
};

// Checks the arguments, and sets Problem::in_place. Errors: invalid_argument; the message names the argument and its
// value. An overlap of input and output other than in place is an error.
Status check(Call& call);

}  // namespace railweave::collectives
