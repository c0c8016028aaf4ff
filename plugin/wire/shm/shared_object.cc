#include "wire/shm/shared_object.h"

#include <sys/mman.h>

#include <cassert>
#include <utility>

#include "base/error.h"
#include "base/sealed_memory.h"

namespace railweave::wire::shm {
namespace {

constexpr std::size_t kPageBytesMax = 64 * KiB;
constexpr std::size_t kDirectionBytes = (sizeof(Direction) + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
constexpr std::size_t kControlBytes = kPageBytesMax;
constexpr std::size_t kObjectBytes = kControlBytes + 2 * kRingBytes;
constexpr std::size_t kMappedBytes = kControlBytes + 4 * kRingBytes;
static_assert(2 * kDirectionBytes <= kControlBytes && kRingBytes % kPageBytesMax == 0);

}  // namespace

Result<SharedObject> SharedObject::make() {
  RW_ASSIGN_OR_RETURN(OwnedFd fd, make_sealed_memory(kObjectBytes));
  SharedObject made(std::move(fd));
  RW_TRY(made.map());
  return made;
}

Result<SharedObject> SharedObject::adopt(OwnedFd fd) {
  SharedObject adopted(std::move(fd));
  RW_TRY(check_sealed_memory(adopted.fd(), kObjectBytes));
  RW_TRY(adopted.map());
  return adopted;
}

Status SharedObject::map() {
  void* const room = ::mmap(nullptr, kMappedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return memory_error("mmap");
  base_ = static_cast<std::byte*>(room);
  const auto place = [&](std::size_t at, std::size_t bytes, std::size_t from) {
    return ::mmap(base_ + at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd(), off_t(from)) != MAP_FAILED;
  };
  bool all = place(0, kControlBytes, 0);
  for (std::size_t i = 0; i < 4; ++i)
    all = all && place(kControlBytes + i * kRingBytes, kRingBytes, kControlBytes + i / 2 * kRingBytes);
  return all ? Status() : memory_error("mmap");
}

Direction& SharedObject::direction(int index) const {
  assert(base_ && (index == 0 || index == 1));
  return *reinterpret_cast<Direction*>(base_ + std::size_t(index) * kDirectionBytes);
}

std::byte* SharedObject::ring(int index) const { return base_ + kControlBytes + std::size_t(index) * 2 * kRingBytes; }

SharedObject::SharedObject(SharedObject&& other) noexcept
    : fd_(std::move(other.fd_)), base_(std::exchange(other.base_, nullptr)) {}

SharedObject& SharedObject::operator=(SharedObject&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  return *this;
}

SharedObject::~SharedObject() {
  if (base_) ::munmap(base_, kMappedBytes);
}

}  // namespace railweave::wire::shm
