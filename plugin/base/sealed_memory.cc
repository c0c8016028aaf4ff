#include "base/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "base/error.h"

namespace railweave {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

#ifndef MFD_NOEXEC_SEAL
constexpr unsigned MFD_NOEXEC_SEAL = 8;
#endif

OwnedFd make_memfd(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  OwnedFd fd(::memfd_create(name, kFlags | MFD_NOEXEC_SEAL));
  if (!fd && errno == EINVAL) fd.reset(::memfd_create(name, kFlags));  // kernels before 6.3 lack MFD_NOEXEC_SEAL
  return fd;
}

}  // namespace

Status memory_error(const char* call) {
  const int err = errno;
  Status status = system_error(Scope::lane, std::string("shared memory: ") + call, err);
  if (err != ENOMEM && err != EMFILE && err != ENFILE) return status;
  return Status(Code::exhausted, Scope::lane, std::string(status.message()), err);
}

Result<OwnedFd> make_sealed_memory(std::size_t bytes, const char* name) {
  OwnedFd fd = make_memfd(name);
  if (!fd) return memory_error("memfd_create");
  rlimit largest{};  // largest file size; ftruncate beyond it would end the process by SIGXFSZ
  if (::getrlimit(RLIMIT_FSIZE, &largest) == 0 && bytes > largest.rlim_cur) {
    errno = EFBIG;
    return memory_error("ftruncate");
  }
  if (::ftruncate(fd.get(), off_t(bytes)) != 0) return memory_error("ftruncate");
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return memory_error("fcntl F_ADD_SEALS");
  return fd;
}

Status check_sealed_memory(int fd, std::size_t bytes) {
  struct stat what {};
  if (::fstat(fd, &what) != 0) return memory_error("fstat");
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && what.st_size == off_t(bytes)) return {};
  return Status(Code::remote, Scope::lane,
                "shared memory of " + std::to_string(what.st_size) + " bytes with seals " + std::to_string(seals) +
                    ", expected " + std::to_string(bytes) + " that cannot shrink");
}

}  // namespace railweave
