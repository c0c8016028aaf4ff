// Memory that ends at an inaccessible page, and can itself be made inaccessible while still mapped.
#pragma once

#include <cstddef>
#include <span>

namespace railweave::nccl_test {

class Buffer {
 public:
  explicit Buffer(std::size_t size);
  ~Buffer();
  Buffer(Buffer&& other) noexcept : base_(other.base_), size_(other.size_), mapped_(other.mapped_) {
    other.base_ = nullptr;
  }
  Buffer& operator=(Buffer&&) = delete;

  std::byte* data() const { return end() - size_; }  // ends at the inaccessible page
  std::size_t size() const { return size_; }
  std::span<std::byte> span(std::size_t at, std::size_t bytes) const { return {data() + at, bytes}; }

  // Makes the memory inaccessible: an access by this process faults, and one by the kernel for it fails with EFAULT.
  void forbid();

 private:
  std::byte* end() const { return base_ + mapped_; }
  std::byte* base_;
  std::size_t size_, mapped_;  // mapped_: size of the accessible pages
};

}  // namespace railweave::nccl_test
