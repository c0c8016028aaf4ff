#include "collectives/kernels/target.h"

#include <array>

#include "hwy/highway.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace railweave::collectives {
namespace {

struct Found {
  std::array<Target, 3> targets{Target::baseline};
  std::size_t count = 1;
};

#if HWY_ARCH_X86
// clang's __builtin_cpu_supports() does not know F16C.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Found find() {
  Found found;
#if HWY_ARCH_X86
  // The features with which Highway compiles these two targets.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && has_f16c() && __builtin_cpu_supports("aes") &&
                    __builtin_cpu_supports("pclmul");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx2 && (HWY_TARGETS & HWY_AVX2) != 0) found.targets[found.count++] = Target::avx2;
  if (avx512 && (HWY_TARGETS & HWY_AVX3) != 0) found.targets[found.count++] = Target::avx512;
#endif
  return found;
}

}  // namespace

std::span<const Target> targets() {
  static const Found found = find();
  return {found.targets.data(), found.count};
}

}  // namespace railweave::collectives
