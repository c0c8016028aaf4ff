// The kernel's notices about MSG_ZEROCOPY sends: which calls' memory it has let go of, and whether it copied after all.
#pragma once

#include <cstdint>

#include "railweave/status.h"

namespace railweave::wire {

// A closed range of send numbers: the n-th successful MSG_ZEROCOPY sendmsg of a socket has number n, from 0, modulo
// 2^32.
struct ZeroCopyNotice {
  std::uint32_t first = 0, last = 0;
};

class ZeroCopy {
 public:
  // Asks the kernel for it; worthwhile() is false where it refuses.
  explicit ZeroCopy(int fd);

  // False for good after kCopiedMost notices in a row said that the kernel had copied (loopback, veth, old drivers).
  bool worthwhile() const { return worthwhile_; }
  void give_up() { worthwhile_ = false; }

  // A send succeeded; returns its number.
  std::uint32_t sent() { return sent_++; }

  // The next notice; false: none now. Costs one system call.
  bool next_notice(int fd, ZeroCopyNotice& notice);

 private:
  static constexpr int kCopiedMost = 8;
  bool worthwhile_;
  int copied_in_a_row_ = 0;
  std::uint32_t sent_ = 0;
};

}  // namespace railweave::wire
