// ZeroCopy reads the kernel's notices about MSG_ZEROCOPY sends. A notice names the calls whose memory the kernel
// released, and says whether the kernel copied after all. Threads: the lane's.
#pragma once

#include <cstdint>

#include "railweave/status.h"

namespace railweave::wire {

// A closed range of send numbers. The socket's successful MSG_ZEROCOPY sends are numbered from 0, modulo 2^32.
struct ZeroCopyNotice {
  std::uint32_t first = 0, last = 0;
};

class ZeroCopy {
 public:
  // Enables SO_ZEROCOPY; worthwhile() is false if the kernel refuses.
  explicit ZeroCopy(int fd);

  // False for good after kCopiedMost notices in a row that the kernel copied (loopback, veth, old drivers).
  bool worthwhile() const { return worthwhile_; }
  void give_up() { worthwhile_ = false; }

  // Counts a successful send and returns its number.
  std::uint32_t sent() { return sent_++; }

  // Reads the next notice; false: none now. Costs one system call.
  bool next_notice(int fd, ZeroCopyNotice& notice);

 private:
  static constexpr int kCopiedMost = 8;
  bool worthwhile_;
  int copied_in_a_row_ = 0;
  std::uint32_t sent_ = 0;  // MSG_ZEROCOPY sends, modulo 2^32
};

}  // namespace railweave::wire
