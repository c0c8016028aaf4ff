// ProcessOrigin: tells an object whether it is used in a forked child of the process that made it. The object's threads
// do not exist in the child, and its locks may stay locked for ever.
// Threads: any.
#pragma once

#include <cstdint>

namespace railweave {

class ProcessOrigin {
 public:
  ProcessOrigin();
  bool in_child() const;  // true in a child that was forked after construction; one atomic load

 private:
  const std::uint32_t generation_;
};

}  // namespace railweave
