// Which process something was made in: after a fork its threads live in the parent only, and its locks may be held for
// ever.
// Threads: any.
#pragma once

#include <cstdint>

namespace railweave {

class ProcessOrigin {
 public:
  ProcessOrigin();
  bool in_child() const;  // true in a child forked since: one atomic load

 private:
  const std::uint32_t generation_;
};

}  // namespace railweave
