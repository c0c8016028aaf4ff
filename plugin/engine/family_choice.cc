#include "engine/family_choice.h"

#include <algorithm>

namespace railweave::engine {

std::optional<Address::Family> FamilyChoice::avoided(const RailPair& pair) const {
  const auto known = std::ranges::find(avoided_, pair, &Avoided::pair);
  return known == avoided_.end() ? std::nullopt : std::optional(known->family);
}

void FamilyChoice::failed(const RailPair& pair, Address::Family by) {
  const auto known = std::ranges::find(avoided_, pair, &Avoided::pair);
  if (known == avoided_.end()) return avoided_.push_back({pair, by});
  known->family = by;
}

void FamilyChoice::forget(const std::function<bool(const RailPair&)>& which) {
  std::erase_if(avoided_, [&](const Avoided& known) { return which(known.pair); });
}

}  // namespace railweave::engine
