#include "torch_ext/submission.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

namespace railweave::torch_ext {
namespace {

// Its elements lie one after the other, and are what they are.
bool plain(const at::Tensor& tensor) { return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg(); }

// Results are copied into it once the others have had theirs: too late to find that they cannot be.
void check_writable(const at::Tensor& tensor, const char* operation) {
  TORCH_CHECK(!tensor._is_zerotensor(), operation, ": a result cannot be written to a tensor of immutable zeros");
  TORCH_CHECK(at::has_internal_overlap(tensor) != at::MemOverlap::Yes, operation,
              ": a result cannot be written to a tensor of which several elements are one place in memory (expanded?), "
              "of size ",
              tensor.sizes(), " and strides ", tensor.strides(), "; clone it before");
}

at::Tensor made_plain(const at::Tensor& tensor) { return tensor.resolve_conj().resolve_neg().contiguous(); }

}  // namespace

void* Submission::kept(const at::Tensor& tensor) {
  void* const data = tensor.data_ptr();
  TORCH_CHECK(data != nullptr || tensor.numel() == 0, title(), ": a tensor of ", tensor.numel(),
              " elements has no memory (was its storage freed?)");
  outline_.memory.push_back(tensor);
  return data;
}

bool Submission::staged(const at::Tensor& tensor) {
  if (!place_) {
    place_ = tensor.device();
    outline_.device = staged_device(*place_);
  }
  TORCH_CHECK(tensor.device() == *place_, title(), ": tensors on different devices, ", *place_, " and ",
              tensor.device());
  return outline_.device != nullptr;
}

at::Tensor Submission::room(std::int64_t elements, const at::Tensor& like) {
  if (staged(like)) return outline_.device->room(elements, like.scalar_type());
  return at::empty({elements}, like.options());
}

at::Tensor Submission::fetched(const at::Tensor& tensor) {
  if (!staged(tensor)) return made_plain(tensor);
  const at::Tensor host = room(tensor.numel(), tensor).view(tensor.sizes());
  outline_.before.emplace_back(host, made_plain(tensor));
  return host;
}

const void* Submission::read(const at::Tensor& tensor) { return kept(fetched(tensor)); }

void* Submission::write(const at::Tensor& tensor) {
  check_writable(tensor, title());
  if (!staged(tensor) && plain(tensor)) return kept(tensor);
  const at::Tensor host = room(tensor.numel(), tensor).view(tensor.sizes());
  outline_.copies.emplace_back(tensor, host);
  return kept(host);
}

void* Submission::change(const at::Tensor& tensor) {
  check_writable(tensor, title());
  if (!staged(tensor) && plain(tensor)) return kept(tensor);
  const at::Tensor copy = fetched(tensor);
  outline_.copies.emplace_back(tensor, copy);
  return kept(copy);
}

const void* Submission::read(at::TensorList tensors) {
  if (const auto one = joined(tensors)) return read(*one);
  const at::NoGradGuard no_grad;
  return in_pieces(tensors, [this](const at::Tensor& piece, const at::Tensor& tensor) {
    if (staged(tensor)) {
      outline_.before.emplace_back(piece, made_plain(tensor));
    } else {
      piece.copy_(tensor);
    }
  });
}

void* Submission::write(at::TensorList tensors) {
  if (const auto one = joined(tensors)) return write(*one);
  return in_pieces(tensors, [this](const at::Tensor& piece, const at::Tensor& tensor) {
    check_writable(tensor, title());
    static_cast<void>(staged(tensor));  // where the others are
    outline_.copies.emplace_back(tensor, piece);
  });
}

void* Submission::in_pieces(at::TensorList tensors,
                            const std::function<void(const at::Tensor& piece, const at::Tensor& tensor)>& each) {
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  const at::Tensor whole = room(elements, tensors.front());
  std::int64_t from = 0;
  for (const at::Tensor& tensor : tensors) {
    each(whole.narrow(0, from, tensor.numel()).view(tensor.sizes()), tensor);
    from += tensor.numel();
  }
  return kept(whole);
}

}  // namespace railweave::torch_ext
