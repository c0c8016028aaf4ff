// The instruction sets that loops are compiled for, and which of them this machine has.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace railweave::collectives {

// `baseline` is what the compiler may assume anyway: NEON on 64-bit Arm, no vectors on x86.
enum class Target : std::uint8_t { baseline, avx2, avx512 };

// Those that were compiled and that this machine runs, the best one last. Never empty.
std::span<const Target> targets();

template <class Function>
Function for_target(Target target, Function baseline, std::type_identity_t<Function> avx2,
                    std::type_identity_t<Function> avx512) {
  if (target == Target::avx512) return avx512;
  return target == Target::avx2 ? avx2 : baseline;
}

}  // namespace railweave::collectives

// After foreach_target.h and highway.h: the copy of `function` for `target`, one of targets().
#define RW_FOR_TARGET(target, function) \
  for_target(target, &HWY_STATIC_DISPATCH(function), HWY_CHOOSE_AVX2(function), HWY_CHOOSE_AVX3(function))
