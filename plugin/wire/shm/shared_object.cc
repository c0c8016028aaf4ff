#include "wire/shm/shared_object.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"

namespace railweave::wire::shm {
namespace {

constexpr std::size_t kPageBytesMax = 64 * KiB;
constexpr std::size_t kDirectionBytes = (sizeof(Direction) + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
constexpr std::size_t kControlBytes = kPageBytesMax;
constexpr std::size_t kObjectBytes = kControlBytes + 2 * kRingBytes;
constexpr std::size_t kMappedBytes = kControlBytes + 4 * kRingBytes;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
static_assert(2 * kDirectionBytes <= kControlBytes && kRingBytes % kPageBytesMax == 0);

#ifndef MFD_NOEXEC_SEAL
constexpr unsigned MFD_NOEXEC_SEAL = 8;
#endif

OwnedFd make_memfd() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  OwnedFd fd(::memfd_create("railweave", kFlags | MFD_NOEXEC_SEAL));
  if (!fd && errno == EINVAL) fd.reset(::memfd_create("railweave", kFlags));  // a kernel before 6.3
  return fd;
}

Status failed(const char* call) {
  const int err = errno;
  Status status = system_error(Scope::lane, std::string("shared memory: ") + call, err);
  if (err != ENOMEM && err != EMFILE && err != ENFILE) return status;
  return Status(Code::exhausted, Scope::lane, std::string(status.message()), err);
}

}  // namespace

Result<SharedObject> SharedObject::make() {
  SharedObject made(make_memfd());
  if (!made.fd_) return failed("memfd_create");
  if (::ftruncate(made.fd(), off_t(kObjectBytes)) != 0) return failed("ftruncate");
  if (::fcntl(made.fd(), F_ADD_SEALS, kSeals) != 0) return failed("fcntl F_ADD_SEALS");
  RW_TRY(made.map());
  return made;
}

Result<SharedObject> SharedObject::adopt(OwnedFd fd) {
  SharedObject adopted(std::move(fd));
  struct stat what {};
  if (::fstat(adopted.fd(), &what) != 0) return failed("fstat");
  const int seals = ::fcntl(adopted.fd(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || what.st_size != off_t(kObjectBytes))
    return Status(Code::remote, Scope::lane,
                  "shared memory of " + std::to_string(what.st_size) + " bytes with seals " + std::to_string(seals) +
                      ", expected " + std::to_string(kObjectBytes) + " that cannot shrink");
  RW_TRY(adopted.map());
  return adopted;
}

Status SharedObject::map() {
  void* const room = ::mmap(nullptr, kMappedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return failed("mmap");
  base_ = static_cast<std::byte*>(room);
  const auto place = [&](std::size_t at, std::size_t bytes, std::size_t from) {
    return ::mmap(base_ + at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd(), off_t(from)) != MAP_FAILED;
  };
  bool all = place(0, kControlBytes, 0);
  for (std::size_t i = 0; i < 4; ++i)
    all = all && place(kControlBytes + i * kRingBytes, kRingBytes, kControlBytes + i / 2 * kRingBytes);
  return all ? Status() : failed("mmap");
}

Direction& SharedObject::direction(int index) const {
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
