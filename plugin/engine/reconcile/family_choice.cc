#include "engine/reconcile/family_choice.h"

#include <algorithm>

namespace railweave::engine {

std::optional<Address::Family> FamilyChoice::avoided(const RailPair& pair) const {
  const auto known = std::ranges::find(avoided_, pair, &Of::pair);
  return known == avoided_.end() ? std::nullopt : std::optional(known->family);
}

void FamilyChoice::failed(const RailPair& pair, Address::Family by) {
  const auto known = std::ranges::find(avoided_, pair, &Of::pair);
  if (known == avoided_.end()) return avoided_.push_back({pair, by});
  known->family = by;
}

void FamilyChoice::came_up(const RailPair& pair, Address::Family by) {
  const Of its{pair, by};
  if (std::ranges::find(carried_, its) == carried_.end()) carried_.push_back(its);
}

bool FamilyChoice::is_doubtful(const RailPair& pair, Address::Family family) const {
  const bool any = std::ranges::find(carried_, pair, &Of::pair) != carried_.end();
  return any && std::ranges::find(carried_, Of{pair, family}) == carried_.end();
}

void FamilyChoice::forget(const std::function<bool(const RailPair&)>& which) {
  for (auto* known : {&avoided_, &carried_}) std::erase_if(*known, [&](const Of& its) { return which(its.pair); });
}

}  // namespace railweave::engine
