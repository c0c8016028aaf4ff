// What torch's tensors are to the group: addresses, counts, types.
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

// How elements of a tensor reduce. `factor` is premul_sum's.
struct TensorReduction {
  collectives::DataType type;
  collectives::Reduction reduction;
  double factor = 1;
};

// Throws c10::Error for what cannot be reduced so; `caller` is named.
TensorReduction reduction_of(const c10d::ReduceOp& op, const at::Tensor& tensor, const Caller& caller);

// Halves of complex numbers, which the group has no type of, as reals where that gives the same sums. Else the tensor
// itself.
at::Tensor as_summands(const at::Tensor& tensor, const c10d::ReduceOp& op);
// The same of what sums are written to: throws for a conjugate of such, which reals cannot be written through.
at::Tensor as_sums(const at::Tensor& tensor, const c10d::ReduceOp& op, const Caller& caller);

// Throws unless the tensor is defined, dense and on the CPU or a device that is staged.
void check_tensor(const at::Tensor& tensor, const Caller& caller);
// Each of them, and that all have one dtype; an empty list is refused.
void check_tensors(at::TensorList tensors, const Caller& caller);
// Throws unless there is just one; answers it.
at::Tensor& only(Tensors& tensors, const Caller& caller);
// Throws unless both have one dtype.
void check_same_dtype(const at::Tensor& a, const at::Tensor& b, const Caller& caller);

// One tensor over the memory of all, where they are chunks of one storage that follow one another (FSDP1 on the CPU).
std::optional<at::Tensor> joined(at::TensorList tensors);

// The same slice of each of the `parts` equal parts of a row of elements.
Tensors slice_of_each(const at::Tensor& row, std::int64_t parts, std::int64_t from, std::int64_t length);

// What is only moved, to the group: elements of the tensor's own type, so that ranks whose types differ find out; bytes
// where the group has no such type.
struct Moved {
  collectives::DataType type;
  std::size_t count;
};
Moved moved(const at::Tensor& tensor);
// The group has no such type.
bool goes_as_bytes(const at::Tensor& tensor);
// The counts of each, in a list of one dtype.
std::vector<std::size_t> moved_counts(at::TensorList tensors);

}  // namespace railweave::torch_ext
