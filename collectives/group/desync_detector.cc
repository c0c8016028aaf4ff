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
    const std::string told = place.progress_of(other);
    std::array<Fingerprint, kPriorities> theirs{};
    if (told.size() != sizeof theirs) continue;
    std::memcpy(theirs.data(), told.data(), told.size());
    for (std::size_t c = 0; c < theirs.size(); ++c) {
      if (theirs[c] == 0 || own.doing[c] == 0 || theirs[c] == own.doing[c]) continue;
      if (number_of(theirs[c]) != number_of(own.doing[c])) continue;  // the rank may only be behind
      return mismatch(other, own.rank, difference(theirs[c], own.doing[c]));
    }
  }
  return "";
}

}  // namespace railweave::collectives
