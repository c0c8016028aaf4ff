#include "torch_ext/submission.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace railweave::torch_ext {
namespace {

at::Tensor room_like(const at::Tensor& tensor) { return at::empty_like(tensor, at::MemoryFormat::Contiguous); }

}  // namespace

void* Submission::kept(const at::Tensor& tensor) {
  outline_.memory.push_back(tensor);
  return tensor.data_ptr();
}

const void* Submission::read(const at::Tensor& tensor) { return kept(tensor.contiguous()); }

void* Submission::write(const at::Tensor& tensor) {
  if (tensor.is_contiguous()) return kept(tensor);
  const at::Tensor room = room_like(tensor);
  outline_.copies.emplace_back(tensor, room);
  return kept(room);
}

void* Submission::change(const at::Tensor& tensor) {
  if (tensor.is_contiguous()) return kept(tensor);
  const at::Tensor copy = tensor.contiguous();
  outline_.copies.emplace_back(tensor, copy);
  return kept(copy);
}

const void* Submission::read(at::TensorList tensors) {
  if (const auto one = joined(tensors)) return kept(*one);
  Tensors flat;
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.reshape({-1}));
  return kept(at::cat(flat));
}

void* Submission::write(at::TensorList tensors) {
  if (const auto one = joined(tensors)) return kept(*one);
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  const at::Tensor room = at::empty({elements}, tensors.front().options());
  std::int64_t from = 0;
  for (const at::Tensor& tensor : tensors) {
    outline_.copies.emplace_back(tensor, room.narrow(0, from, tensor.numel()).view(tensor.sizes()));
    from += tensor.numel();
  }
  return kept(room);
}

}  // namespace railweave::torch_ext
