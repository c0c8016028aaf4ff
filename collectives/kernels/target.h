// Instruction sets that loops are compiled for, and detection of those that this machine has.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace railweave::collectives {

// `baseline`: what the compiler may assume without options; NEON on 64-bit Arm, no vectors on x86.
enum class Target : std::uint8_t { baseline, avx2, avx512 };

// Returns the compiled targets that this machine runs, the best one last. Never empty.
std::span<const Target> targets();

template <class Function>
Function for_target(Target target, Function baseline, std::type_identity_t<Function> avx2,
                    std::type_identity_t<Function> avx512) {
  if (target == Target::avx512) return avx512;
  return target == Target::avx2 ? avx2 : baseline;
}

}  // namespace railweave::collectives

// Returns the copy of `function` for `target`, one of targets(). REQUIRES: foreach_target.h and highway.h are included.
#define RW_FOR_TARGET(target, function) \
  for_target(target, &HWY_STATIC_DISPATCH(function), HWY_CHOOSE_AVX2(function), HWY_CHOOSE_AVX3(function))
