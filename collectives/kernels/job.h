// The input of an element loop, and the tables of loops. Internal to kernels/ and its tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/kernels/kernels.h"
#include "collectives/kernels/target.h"

namespace railweave::collectives {

// Element types of the loops; a complex number is two floats.
enum class Element : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, boolean };

struct Job {
  std::span<const Operand> operands;
  void* to = nullptr;
  bool to_partial = false;
  std::size_t begin = 0;  // elements [begin, end) of all operands and of `to`
  std::size_t end = 0;
  double factor = 1;                 // premul_sum of floats
  std::uint64_t integer_factor = 1;  // premul_sum of integers, in two's complement
  int ranks = 1;
};
using Loop = void (*)(const Job&);

// Loops by reduction and element; null if there is none.
Loop sum_loop(Target target, Reduction reduction, Element element);  // sum, premul_sum; avg of floats, finished
Loop product_loop(Target target, Element element);
Loop extremum_loop(Target target, Reduction reduction, Element element);  // min, max
Loop bit_loop(Target target, Reduction reduction, Element element);       // band, bor, bxor of u8 and boolean
// Divides integers in `to` by `ranks`, in place; takes no operands.
Loop quotient_loop(Element element);

// Does reduce() on one of targets().
void reduce_on(Target target, const Reducing& how, std::span<const Operand> operands, void* to, bool finish,
               std::size_t count);

}  // namespace railweave::collectives
