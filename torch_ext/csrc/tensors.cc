#include "torch_ext/csrc/tensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/view_as_real.h>
#include <c10/util/Exception.h>

#include "torch_ext/csrc/c10d_names.h"
#include "torch_ext/csrc/staging.h"

namespace railweave::torch_ext {
namespace {

using collectives::DataType;
using collectives::Reduction;

std::optional<DataType> data_type_of(at::ScalarType type) {
  switch (type) {
    case at::kChar: return DataType::int8;
    case at::kByte: return DataType::uint8;
    case at::kShort: return DataType::int16;
    case at::kUInt16: return DataType::uint16;
    case at::kInt: return DataType::int32;
    case at::kUInt32: return DataType::uint32;
    case at::kLong: return DataType::int64;
    case at::kUInt64: return DataType::uint64;
    case at::kHalf: return DataType::float16;
    case at::kBFloat16: return DataType::bfloat16;
    case at::kFloat: return DataType::float32;
    case at::kDouble: return DataType::float64;
    case at::kComplexFloat: return DataType::complex64;
    case at::kComplexDouble: return DataType::complex128;
    case at::kFloat8_e4m3fn: return DataType::float8_e4m3;
    case at::kFloat8_e5m2: return DataType::float8_e5m2;
    case at::kBool: return DataType::boolean;
    default: return std::nullopt;
  }
}

std::optional<Reduction> reduction_of(c10d::ReduceOp::RedOpType op) {
  switch (op) {
    case c10d::ReduceOp::SUM: return Reduction::sum;
    case c10d::ReduceOp::AVG: return Reduction::avg;
    case c10d::ReduceOp::PRODUCT: return Reduction::prod;
    case c10d::ReduceOp::MIN: return Reduction::min;
    case c10d::ReduceOp::MAX: return Reduction::max;
    case c10d::ReduceOp::BAND: return Reduction::band;
    case c10d::ReduceOp::BOR: return Reduction::bor;
    case c10d::ReduceOp::BXOR: return Reduction::bxor;
    case c10d::ReduceOp::PREMUL_SUM: return Reduction::premul_sum;
    default: return std::nullopt;
  }
}

double factor_of(const c10d::ReduceOp& op) {
  const auto* supplement = dynamic_cast<const PreMulSumSupplement*>(op.supplement_.get());
  if (supplement == nullptr) return 1;
  return supplement->tensor_factor.defined() ? supplement->tensor_factor.item().toDouble() : supplement->double_factor;
}

}  // namespace

TensorReduction reduction_of(const c10d::ReduceOp& op, const at::Tensor& tensor, const Caller& caller) {
  const auto type = data_type_of(tensor.scalar_type());
  TORCH_CHECK(type, caller, ": Invalid scalar type: ", tensor.scalar_type(), " cannot be reduced");
  const auto reduction = reduction_of(op.op_);
  TORCH_CHECK(reduction, caller, ": unknown reduction ", int(op.op_));
  TORCH_CHECK(collectives::supports(*type, *reduction), caller, ": ", collectives::name(*reduction), " of ",
              tensor.scalar_type(), " is not supported");
  return {*type, *reduction, factor_of(op)};
}

at::Tensor as_summands(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  const bool sums = op.op_ == c10d::ReduceOp::SUM || op.op_ == c10d::ReduceOp::AVG;
  return sums && tensor.scalar_type() == at::kComplexHalf ? at::view_as_real(tensor.resolve_conj()) : tensor;
}

at::Tensor as_sums(const at::Tensor& tensor, const c10d::ReduceOp& op, const Caller& caller) {
  TORCH_CHECK(tensor.scalar_type() != at::kComplexHalf || !tensor.is_conj(), caller,
              ": a result cannot be written to a conjugated tensor of ComplexHalf; call resolve_conj() first");
  return as_summands(tensor, op);
}

void check_tensor(const at::Tensor& tensor, const Caller& caller) {
  TORCH_CHECK(tensor.defined(), caller, ": a tensor is not defined");
  TORCH_CHECK(tensor.layout() == at::kStrided, caller, ": expected a dense tensor, found layout ", tensor.layout());
  TORCH_CHECK(tensor.device().is_cpu() || staged_device(tensor.device()) != nullptr, caller,
              ": expected a tensor on the CPU or on a CUDA device, found one on ", tensor.device());
}

void check_tensors(at::TensorList tensors, const Caller& caller) {
  TORCH_CHECK(!tensors.empty(), caller, ": requires a non-empty list of tensors");
  for (const at::Tensor& tensor : tensors) {
    check_tensor(tensor, caller);
    check_same_dtype(tensors.front(), tensor, caller);
  }
}

at::Tensor& only(Tensors& tensors, const Caller& caller) {
  TORCH_CHECK(tensors.size() == 1, caller, ": requires a single-element tensor list, found ", tensors.size());
  check_tensor(tensors.front(), caller);
  return tensors.front();
}

void check_same_dtype(const at::Tensor& a, const at::Tensor& b, const Caller& caller) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), caller, ": invalid tensor type: expected ", a.scalar_type(),
              ", found ", b.scalar_type());
}

std::optional<at::Tensor> joined(at::TensorList tensors) {
  const at::Tensor& first = tensors.front();
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) {
    const bool follows = tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg() && tensor.is_alias_of(first) &&
                         tensor.scalar_type() == first.scalar_type() &&
                         tensor.storage_offset() == first.storage_offset() + elements;
    if (!follows) return std::nullopt;
    elements += tensor.numel();
  }
  return first.as_strided({elements}, {1});
}

Tensors slice_of_each(const at::Tensor& row, std::int64_t parts, std::int64_t from, std::int64_t length) {
  Tensors slices;
  for (std::int64_t part = 0; part < parts; ++part)
    slices.push_back(row.narrow(0, part * (row.numel() / parts) + from, length));
  return slices;
}

bool goes_as_bytes(const at::Tensor& tensor) { return !data_type_of(tensor.scalar_type()); }

Moved moved(const at::Tensor& tensor) {
  const DataType type = data_type_of(tensor.scalar_type()).value_or(DataType::uint8);
  return {type, tensor.nbytes() / collectives::size_bytes(type)};
}

std::vector<std::size_t> moved_counts(at::TensorList tensors) {
  std::vector<std::size_t> counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(moved(tensor).count);
  return counts;
}

}  // namespace railweave::torch_ext
