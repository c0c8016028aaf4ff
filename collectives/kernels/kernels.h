// Reductions of memory, near its speed: the best instruction set of this machine is chosen at run time (Highway).
// Threads: any; no state. Alignment: none is needed.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/kernels/types.h"

namespace railweave::collectives {

struct Reducing {
  DataType type = DataType::float32;
  Reduction reduction = Reduction::sum;
  int ranks = 1;  // avg: what finished sums are divided by
  // premul_sum: multiplied to every raw operand before it is added (rounded to the type, float32 for 16-bit floats;
  // integers: converted to the type first, towards zero, saturating, NaN to 0)
  double factor = 1;
};

struct Operand {
  const void* data = nullptr;
  bool partial = false;  // elements of partial_size_bytes(type); else raw ones
};

// to[i] = operands[0][i] op operands[1][i] op ..., in that order, for `count` elements. `finish`: `to` has elements of
// size_bytes(type), rounded once from what was accumulated, and divided if the reduction is avg (integers: towards
// zero); else `to` is partial. `to` may be exactly one operand's memory if it is not wider than that; else they do not
// overlap.
// Floats: min and max give NaN if any operand is NaN, and -0 is less than +0; subnormals are kept. Integers wrap. Which
// NaN a NaN is may differ from machine to machine; all else is the same bits on each.
// REQUIRES: supports(type, reduction), at least one operand.
void reduce(const Reducing& how, std::span<const Operand> operands, void* to, bool finish, std::size_t count);

}  // namespace railweave::collectives
