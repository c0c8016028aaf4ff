// Names of the torch version that our tests run with, defined for older versions in which c10d named them differently
// (docs/guide/compat.md).
#pragma once

#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace railweave::torch_ext {

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 13
using PreMulSumSupplement = c10d::NCCLPreMulSumSupplement;
#else
using PreMulSumSupplement = c10d::PreMulSumSupplement;
#endif

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 12
inline constexpr auto kReduceScatterTensorCoalesced = c10d::OpType::COALESCED;
#else
inline constexpr auto kReduceScatterTensorCoalesced = c10d::OpType::REDUCE_SCATTER_TENSOR_COALESCED;
#endif

// Copies what a backend's options say about its group.
inline void take_group(const c10d::Backend::Options& from, c10d::Backend::Options& to) {
  to.group_name = from.group_name;
  to.global_ranks_in_group = from.global_ranks_in_group;
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
  to.group_desc = from.group_desc;
#endif
}

}  // namespace railweave::torch_ext
