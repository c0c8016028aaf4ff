#include "collectives/kernels/kernels.h"

#include <algorithm>
#include <array>
#include <limits>

#include "collectives/kernels/job.h"

namespace railweave::collectives {
namespace {

Element element_of(DataType type) {
  switch (type) {
    case DataType::int8: return Element::i8;
    case DataType::int16: return Element::i16;
    case DataType::uint16: return Element::u16;
    case DataType::int32: return Element::i32;
    case DataType::uint32: return Element::u32;
    case DataType::int64: return Element::i64;
    case DataType::uint64: return Element::u64;
    case DataType::float16: return Element::f16;
    case DataType::bfloat16: return Element::bf16;
    case DataType::float32:
    case DataType::complex64: return Element::f32;
    case DataType::float64:
    case DataType::complex128: return Element::f64;
    case DataType::boolean: return Element::boolean;
    case DataType::uint8:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2: break;
  }
  return Element::u8;
}

bool is_integer(Element element) { return element <= Element::u64; }

// Converts towards zero. Saturates a value that does not fit; NaN becomes 0.
template <class T>
std::uint64_t converted(double factor) {
  using Limits = std::numeric_limits<T>;
  if (!(factor == factor)) return 0;
  if (factor <= double(Limits::min())) return std::uint64_t(Limits::min());
  if (factor >= double(Limits::max())) return std::uint64_t(Limits::max());
  return std::uint64_t(T(factor));
}

std::uint64_t converted(double factor, Element element) {
  switch (element) {
    case Element::i8: return converted<std::int8_t>(factor);
    case Element::u8: return converted<std::uint8_t>(factor);
    case Element::i16: return converted<std::int16_t>(factor);
    case Element::u16: return converted<std::uint16_t>(factor);
    case Element::i32: return converted<std::int32_t>(factor);
    case Element::u32: return converted<std::uint32_t>(factor);
    case Element::i64: return converted<std::int64_t>(factor);
    case Element::u64: return converted<std::uint64_t>(factor);
    default: return 1;
  }
}

Reduction of_bits(Reduction reduction) {
  switch (reduction) {
    case Reduction::prod:
    case Reduction::min: return Reduction::band;
    case Reduction::sum:
    case Reduction::max: return Reduction::bor;
    default: return reduction;
  }
}

// Divides each block while the sums are in the nearest cache.
void average_integers(Target target, Element element, Job job) {
  constexpr std::size_t kBlock = 2048;
  const Loop sum = sum_loop(target, Reduction::sum, element), divide = quotient_loop(element);
  for (const std::size_t count = job.end; job.begin < count; job.begin = job.end) {
    job.end = std::min(count, job.begin + kBlock);
    sum(job);
    divide(job);
  }
}

Loop loop_for(Target target, Reduction reduction, Element element) {
  switch (reduction) {
    case Reduction::prod: return product_loop(target, element);
    case Reduction::min:
    case Reduction::max: return extremum_loop(target, reduction, element);
    case Reduction::band:
    case Reduction::bor:
    case Reduction::bxor: return bit_loop(target, reduction, element);
    case Reduction::sum:
    case Reduction::avg:
    case Reduction::premul_sum: break;
  }
  return sum_loop(target, reduction, element);
}

constexpr std::size_t kOperandsAtOnce = 16;  // more streams are too many for prefetchers and small pages
constexpr std::size_t kAccumulatedBytes = 16 * 1024;

// Reduces block by block, a few operands at a time, into a buffer that stays in the nearest cache.
void reduce_in_turns(Target target, const Reducing& how, std::span<const Operand> operands, void* to, bool finish,
                     std::size_t count) {
  alignas(64) unsigned char accumulated[kAccumulatedBytes];
  const std::size_t to_bytes = finish ? size_bytes(how.type) : partial_size_bytes(how.type);
  const std::size_t block = kAccumulatedBytes / partial_size_bytes(how.type);
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t size = std::min(block, count - begin);
    for (std::size_t k = 0; k < operands.size();) {
      std::array<Operand, kOperandsAtOnce> some;
      std::size_t taken = 0;
      if (k > 0) some[taken++] = {accumulated, true};
      for (; taken < some.size() && k < operands.size(); ++k) {
        const std::size_t bytes = operands[k].partial ? partial_size_bytes(how.type) : size_bytes(how.type);
        some[taken++] = {static_cast<const unsigned char*>(operands[k].data) + begin * bytes, operands[k].partial};
      }
      const bool last = k == operands.size();
      reduce_on(target, how, {some.data(), taken},
                last ? static_cast<unsigned char*>(to) + begin * to_bytes : accumulated, last && finish, size);
    }
  }
}

}  // namespace

void reduce_on(Target target, const Reducing& how, std::span<const Operand> operands, void* to, bool finish,
               std::size_t count) {
  if (operands.size() > kOperandsAtOnce) return reduce_in_turns(target, how, operands, to, finish, count);
  Element element = element_of(how.type);
  Reduction reduction = how.reduction;
  if (how.type == DataType::complex64 || how.type == DataType::complex128) count *= 2;
  if (element == Element::boolean) {
    reduction = of_bits(reduction);
  } else if (reduction == Reduction::band || reduction == Reduction::bor || reduction == Reduction::bxor) {
    count *= size_bytes(how.type);
    element = Element::u8;
  }
  Job job{
      .operands = operands, .to = to, .to_partial = !finish, .end = count, .factor = how.factor, .ranks = how.ranks};
  if (reduction == Reduction::premul_sum) job.integer_factor = converted(how.factor, element);
  if (reduction == Reduction::avg) {
    if (finish && is_integer(element)) return average_integers(target, element, job);
    if (!finish) reduction = Reduction::sum;
  }
  loop_for(target, reduction, element)(job);
}

void reduce(const Reducing& how, std::span<const Operand> operands, void* to, bool finish, std::size_t count) {
  reduce_on(targets().back(), how, operands, to, finish, count);
}

}  // namespace railweave::collectives
