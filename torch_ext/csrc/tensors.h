// Translates torch's tensors for the group: addresses, counts, types.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "collectives/group/group.h"
#include "torch_ext/csrc/caller.h"

namespace railweave::torch_ext {

using Tensors = std::vector<at::Tensor>;

// Reduction of a tensor's elements. `factor`: of premul_sum.
struct TensorReduction {
  collectives::DataType type;
  collectives::Reduction reduction;
  double factor = 1;
};

// Throws c10::Error, which names `caller`, if the tensor has no such reduction.
TensorReduction reduction_of(const c10d::ReduceOp& op, const at::Tensor& tensor, const Caller& caller);

// Returns a view of complex halves as reals where this gives the same sums, because the group has no such type. Returns
// other tensors as they are.
at::Tensor as_summands(const at::Tensor& tensor, const c10d::ReduceOp& op);
// Does the same for a tensor that sums are written to. Throws for a conjugated tensor of complex halves: it cannot be
// written through reals.
at::Tensor as_sums(const at::Tensor& tensor, const c10d::ReduceOp& op, const Caller& caller);

// Throws unless the tensor is defined, dense, and on the CPU or a staged device.
void check_tensor(const at::Tensor& tensor, const Caller& caller);
// Checks each tensor, and that all have one dtype. Throws for an empty list.
void check_tensors(at::TensorList tensors, const Caller& caller);
// Returns the only tensor of the list, checked. Throws if the list has another length.
at::Tensor& only(Tensors& tensors, const Caller& caller);
// Throws unless both have one dtype.
void check_same_dtype(const at::Tensor& a, const at::Tensor& b, const Caller& caller);

// Returns one tensor over the memory of all, if they are consecutive chunks of one storage (FSDP1 on the CPU).
std::optional<at::Tensor> joined(at::TensorList tensors);

// Returns the same slice of each of the `parts` equal parts of `row`.
Tensors slice_of_each(const at::Tensor& row, std::int64_t parts, std::int64_t from, std::int64_t length);

// Elements that are only moved. They have the tensor's own type, so that ranks with different types notice; bytes if
// the group has no such type.
struct Moved {
  collectives::DataType type;
  std::size_t count;
};
Moved moved(const at::Tensor& tensor);
// Returns true if the group has no such type.
bool goes_as_bytes(const at::Tensor& tensor);
// Counts of the tensors of a list with one dtype.
std::vector<std::size_t> moved_counts(at::TensorList tensors);

}  // namespace railweave::torch_ext
