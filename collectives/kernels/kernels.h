// Reduces memory at nearly memory speed. The best instruction set of this machine is chosen at run time (Highway).
// Threads: any; no state. Alignment: not needed.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/kernels/types.h"

namespace railweave::collectives {

struct Reducing {
  DataType type = DataType::float32;
  Reduction reduction = Reduction::sum;
  int ranks = 1;  // avg: divisor of finished sums
  // premul_sum: multiplies every raw operand before it is added. The product is rounded to the type (float32 for 16-bit
  // floats). For integers the factor is converted to the type first: towards zero, saturating, NaN to 0.
  double factor = 1;
};

struct Operand {
  const void* data = nullptr;
  bool partial = false;  // elements of partial_size_bytes(type); false: raw elements
};

// Computes to[i] = operands[0][i] op operands[1][i] op ..., in this order, for `count` elements.
// `finish`: `to` has elements of size_bytes(type), rounded once from the accumulated value, and divided if the
// reduction is avg (integers: towards zero). Without `finish`, `to` is partial.
// `to` may be exactly one operand's memory, if its elements are not wider than the operand's. Otherwise `to` overlaps
// no operand.
// Floats: min and max give NaN if any operand is NaN, and -0 is less than +0; subnormals are kept. Integers wrap.
// Results have the same bits on every machine, except for the bits of a NaN.
// REQUIRES: supports(type, reduction), at least one operand.
void reduce(const Reducing& how, std::span<const Operand> operands, void* to, bool finish, std::size_t count);

}  // namespace railweave::collectives
