#include "torch_ext/submission.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace railweave::torch_ext {
namespace {

// Its elements lie one after the other, and are what they are.
bool plain(const at::Tensor& tensor) { return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg(); }

at::Tensor made_plain(const at::Tensor& tensor) { return tensor.resolve_conj().resolve_neg().contiguous(); }

at::Tensor room_like(const at::Tensor& tensor) { return at::empty_like(tensor, at::MemoryFormat::Contiguous); }

}  // namespace

void* Submission::kept(const at::Tensor& tensor) {
  outline_.memory.push_back(tensor);
  return tensor.data_ptr();
}

const void* Submission::read(const at::Tensor& tensor) { return kept(made_plain(tensor)); }

void* Submission::write(const at::Tensor& tensor) {
  if (plain(tensor)) return kept(tensor);
  const at::Tensor room = room_like(tensor);
  outline_.copies.emplace_back(tensor, room);
  return kept(room);
}

void* Submission::change(const at::Tensor& tensor) {
  if (plain(tensor)) return kept(tensor);
  const at::Tensor copy = made_plain(tensor);
  outline_.copies.emplace_back(tensor, copy);
  return kept(copy);
}

const void* Submission::read(at::TensorList tensors) {
  if (const auto one = joined(tensors)) return kept(*one);
  Tensors flat;
  for (const at::Tensor& tensor : tensors) flat.push_back(made_plain(tensor).view({-1}));
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
