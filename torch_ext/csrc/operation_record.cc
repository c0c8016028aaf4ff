#include "torch_ext/csrc/operation_record.h"

#include <algorithm>

namespace railweave::torch_ext {

void TensorShapes::add(const at::Tensor& tensor) {
  if (tensors_++ != kept_ || kept_ == kTensorsMost) return;
  const auto sizes = tensor.sizes();
  const std::size_t begin = kept_ == 0 ? 0 : ends_[kept_ - 1u];
  if (sizes.size() > kSizesMost - begin) return;
  std::ranges::copy(sizes, sizes_.begin() + std::ptrdiff_t(begin));
  ends_[kept_] = std::uint8_t(begin + sizes.size());
  dtypes_[kept_++] = std::int8_t(tensor.scalar_type());
}

std::span<const std::int64_t> TensorShapes::sizes(std::size_t i) const {
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return {sizes_.data() + begin, ends_[i] - begin};
}

}  // namespace railweave::torch_ext
