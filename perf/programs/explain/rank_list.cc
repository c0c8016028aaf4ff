#include "explain/rank_list.h"

#include <algorithm>
#include <utility>

namespace railweave::explain {

RankList::RankList(std::vector<std::uint64_t> ranks) : count_(ranks.size()) {
  if (ranks.empty()) return;
  first_ = ranks[0];
  if (ranks.size() > 1) step_ = ranks[1] - ranks[0];
  const auto uneven = [this](std::uint64_t a, std::uint64_t b) { return b - a != step_; };
  if (std::ranges::adjacent_find(ranks, uneven) == ranks.end()) return;
  first_ = 0;
  step_ = 1;
  listed_ = std::move(ranks);
}

std::optional<std::size_t> RankList::index_of(std::uint64_t rank) const {
  if (!listed_.empty()) {
    const auto found = std::ranges::find(listed_, rank);
    if (found == listed_.end()) return std::nullopt;
    return std::size_t(found - listed_.begin());
  }
  const std::uint64_t distance = rank - first_;
  if (count_ == 0 || (step_ == 0 ? distance != 0 : distance % step_ != 0)) return std::nullopt;
  const std::uint64_t index = step_ == 0 ? 0 : distance / step_;
  if (index >= count_) return std::nullopt;
  return std::size_t(index);
}

}  // namespace railweave::explain
