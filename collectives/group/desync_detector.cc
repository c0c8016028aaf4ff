#include "collectives/group/desync_detector.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace railweave::collectives {
namespace {

constexpr std::size_t kAskedMost = 8;  // ranks; all ranks asking about all ranks would overload the store

}  // namespace

std::string compare(const Rendezvous& place, const ProgressReport& own) {
  std::string text(sizeof own.doing, '\0');
  std::memcpy(text.data(), own.doing.data(), text.size());
  place.publish_progress(text);
  for (std::size_t i = 0; i < std::min(own.awaited.size(), kAskedMost); ++i) {
    const int other = own.awaited[i];
    const std::string report = place.progress_of(other);
    std::array<Fingerprint, kPriorities> theirs{};
    if (report.size() != sizeof theirs) continue;
    std::memcpy(theirs.data(), report.data(), report.size());
    for (std::size_t p = 0; p < theirs.size(); ++p) {
      if (theirs[p] == 0 || own.doing[p] == 0 || theirs[p] == own.doing[p]) continue;
      if (number_of(theirs[p]) != number_of(own.doing[p])) continue;  // the rank may only be behind
      return mismatch(other, own.rank, difference(theirs[p], own.doing[p]));
    }
  }
  return "";
}

}  // namespace railweave::collectives
