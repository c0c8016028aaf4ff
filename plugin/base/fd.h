// A file descriptor with one owner.
// Threads: as for an int. Errors: close() has none worth hearing of; errno is kept.
#pragma once

#include <unistd.h>
#include <cerrno>
#include <utility>

namespace railweave {

class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}  // takes ownership; -1: none
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~OwnedFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  // The caller owns it from here on.
  int release() { return std::exchange(fd_, -1); }

  // Closes what is held, then takes `fd`.
  void reset(int fd = -1) {
    const int old = std::exchange(fd_, fd);
    if (old < 0) return;
    const int kept = errno;
    ::close(old);  // never again on EINTR: Linux has let go of the number by then
    errno = kept;
  }

 private:
  int fd_;
};

}  // namespace railweave
