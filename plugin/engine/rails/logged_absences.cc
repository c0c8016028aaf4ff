#include "engine/rails/logged_absences.h"

#include <utility>

namespace railweave::engine {

bool LoggedAbsences::may_log_ours(int rail) {
  const std::uint64_t bit = std::uint64_t{1} << rail;
  return (std::exchange(ours_, ours_ | bit) & bit) == 0;
}

bool LoggedAbsences::may_log_peers() {
  if (peers_ == kPeersMost) return false;
  ++peers_;
  return true;
}

}  // namespace railweave::engine
