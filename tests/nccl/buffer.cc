#include "tests/nccl/buffer.h"

#include <sys/mman.h>

#include "tests/nccl/failure.h"

namespace railweave::nccl_test {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

Buffer::Buffer(std::size_t size) : size_(size), mapped_((size + kPage - 1) / kPage * kPage) {
  void* const at = mmap(nullptr, mapped_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw Failure("mmap of a test buffer failed");
  base_ = static_cast<std::byte*>(at);
  mprotect(end(), kPage, PROT_NONE);
}

Buffer::~Buffer() {
  if (base_) munmap(base_, mapped_ + kPage);
}

void Buffer::forbid() {
  if (mprotect(base_, mapped_, PROT_NONE) != 0) throw Failure("mprotect of a test buffer failed");
}

}  // namespace railweave::nccl_test
