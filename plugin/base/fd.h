// OwnedFd: a file descriptor with one owner, closed with the owner.
// Threads: as for an int. Errors: errors of close() are ignored, and errno is left as it was.
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

  // Passes ownership of the descriptor to the caller.
  int release() { return std::exchange(fd_, -1); }

  // Closes the held descriptor, if any, and takes ownership of `fd`.
  void reset(int fd = -1) {
    const int old = std::exchange(fd_, fd);
    if (old < 0) return;
    const int kept = errno;
    ::close(old);  // no retry on EINTR: Linux has freed the number by then
    errno = kept;
  }

 private:
  int fd_;
};

}  // namespace railweave
