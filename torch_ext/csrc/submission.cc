#include "torch_ext/csrc/submission.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace railweave::torch_ext {
namespace {

// Returns true if the elements are contiguous, and neither conjugated nor negated lazily.
bool plain(const at::Tensor& tensor) { return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg(); }

at::Tensor made_plain(const at::Tensor& tensor) { return tensor.resolve_conj().resolve_neg().contiguous(); }

// Returns true if no two elements share memory: in the order of strides, each dimension steps over everything that the
// earlier ones reach. Some valid tensors are refused, too (strides of 2 and 3, for example).
bool has_distinct_elements(const at::Tensor& tensor) {
  if (tensor.numel() == 0 || tensor.is_non_overlapping_and_dense()) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
    if (tensor.size(dim) > 1) steps.emplace_back(tensor.stride(dim), tensor.size(dim));
  std::ranges::sort(steps);
  std::int64_t reach = 0;
  return std::ranges::all_of(steps, [&](const auto& step) {
    const bool over = step.first > reach;
    reach += step.first * (step.second - 1);
    return over;
  });
}

// Bytes of a chunk, of the larger side of an operation. A starting point, not measured on a GPU.
constexpr std::int64_t kChunkBytes = 8 << 20;

}  // namespace

// Checked before the start: results are copied after the other ranks have theirs, which is too late for an error.
void Submission::check_writable(const at::Tensor& tensor) const {
  TORCH_CHECK(!tensor._is_zerotensor(), caller_, ": a result cannot be written to a tensor of immutable zeros");
  TORCH_CHECK(has_distinct_elements(tensor), caller_,
              ": a result cannot be written to a tensor whose elements share memory (was it expanded?), of size ",
              tensor.sizes(), " and strides ", tensor.strides(), "; clone it first");
}

void* Submission::kept(const at::Tensor& tensor) {
  void* const data = tensor.data_ptr();
  TORCH_CHECK(data != nullptr || tensor.numel() == 0, caller_, ": a tensor of ", tensor.numel(),
              " elements has no memory (was its storage freed?)");
  outline_.memory.push_back(tensor);
  return data;
}

bool Submission::staged(const at::Tensor& tensor) {
  if (!place_) {
    place_ = tensor.device();
    outline_.device = staged_device(*place_);
  }
  TORCH_CHECK(tensor.device() == *place_, caller_, ": tensors on different devices, ", *place_, " and ",
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
  chunk_.before.emplace_back(host, made_plain(tensor));
  return host;
}

at::Tensor Submission::without_alias(const at::Tensor& input, const at::Tensor& output,
                                     std::optional<std::int64_t> own_at) {
  if (staged(input) || !plain(input) || !plain(output)) return input;  // a copy is made anyway
  const auto* const from = static_cast<const std::byte*>(input.const_data_ptr());
  const auto* const to = static_cast<const std::byte*>(output.const_data_ptr());
  const std::less<const std::byte*> before;
  if (!before(from, to + output.nbytes()) || !before(to, from + input.nbytes())) return input;
  if (own_at && from == to + *own_at * std::int64_t(output.element_size())) return input;
  const at::NoGradGuard no_grad;
  return input.clone();
}

const void* Submission::read(const at::Tensor& tensor) { return kept(fetched(tensor)); }

void* Submission::write(const at::Tensor& tensor) {
  check_writable(tensor);
  if (!staged(tensor) && plain(tensor)) return kept(tensor);
  const at::Tensor host = room(tensor.numel(), tensor).view(tensor.sizes());
  chunk_.after.emplace_back(tensor, host);
  return kept(host);
}

void* Submission::change(const at::Tensor& tensor) {
  check_writable(tensor);
  if (!staged(tensor) && plain(tensor)) return kept(tensor);
  const at::Tensor copy = fetched(tensor);
  chunk_.after.emplace_back(tensor, copy);
  return kept(copy);
}

const void* Submission::read(at::TensorList tensors) {
  if (const auto one = joined(tensors)) return read(*one);
  const at::NoGradGuard no_grad;
  return in_pieces(tensors, [this](const at::Tensor& piece, const at::Tensor& tensor) {
    if (staged(tensor)) {
      chunk_.before.emplace_back(piece, made_plain(tensor));
    } else {
      piece.copy_(tensor);
    }
  });
}

void* Submission::write(at::TensorList tensors) {
  if (const auto one = joined(tensors)) return write(*one);
  return in_pieces(tensors, [this](const at::Tensor& piece, const at::Tensor& tensor) {
    check_writable(tensor);
    static_cast<void>(staged(tensor));  // checks the tensor's device
    chunk_.after.emplace_back(tensor, piece);
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

std::vector<Submission::Slice> Submission::slices(const at::Tensor& whole, std::int64_t parts) {
  const std::int64_t elements = whole.numel() / parts;
  std::int64_t most = elements;
  if (staged(whole)) most = std::max<std::int64_t>(1, kChunkBytes / (whole.element_size() * parts));
  std::vector<Slice> slices;
  for (std::int64_t from = 0; from < elements; from += most) slices.push_back({from, std::min(most, elements - from)});
  if (slices.empty()) slices.push_back({0, 0});
  return slices;
}

at::Tensor Submission::row_to_read(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  return made_plain(tensor).view({-1});
}

at::Tensor Submission::row_to_write(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  if (plain(tensor)) return tensor.view({-1});
  check_writable(tensor);
  const at::Tensor row = at::empty({tensor.numel()}, tensor.options());
  outline_.last.emplace_back(tensor, row.view(tensor.sizes()));
  return row;
}

at::Tensor Submission::row_to_change(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  if (plain(tensor)) return tensor.view({-1});
  check_writable(tensor);
  const at::Tensor row = made_plain(tensor).view({-1});
  outline_.last.emplace_back(tensor, row.view(tensor.sizes()));
  return row;
}

Tensors Submission::pieces(const at::Tensor& tensor, at::Tensor (Submission::*row_of)(const at::Tensor&)) {
  const auto cuts = slices(tensor, 1);
  if (cuts.size() == 1) return {tensor};
  const at::Tensor row = (this->*row_of)(tensor);
  Tensors pieces;
  for (const auto& [from, length] : cuts) pieces.push_back(row.narrow(0, from, length));
  return pieces;
}

void Submission::call(std::function<collectives::WorkPtr(collectives::Group&, const collectives::Hints&)> call) {
  chunk_.call = std::move(call);
  const Tensors& those = outline_.results.empty() ? outline_.inputs : outline_.results;
  if (!those.empty() && goes_as_bytes(those.back())) chunk_.elements = std::uint64_t(those.back().scalar_type()) + 1;
  outline_.chunks.push_back(std::move(chunk_));
  chunk_ = {};
}

}  // namespace railweave::torch_ext
