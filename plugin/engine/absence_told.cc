#include "engine/absence_told.h"

#include <utility>

namespace railweave::engine {

bool AbsenceTold::ours(int rail) {
  const std::uint64_t bit = std::uint64_t{1} << rail;
  return (std::exchange(ours_, ours_ | bit) & bit) == 0;
}

bool AbsenceTold::peers() { return peers_ < kPeersMost && ++peers_ > 0; }

}  // namespace railweave::engine
