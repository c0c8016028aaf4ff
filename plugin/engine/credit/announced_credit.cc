#include "engine/credit/announced_credit.h"

#include <algorithm>

namespace railweave::engine {
namespace {

using protocol::Credit;

constexpr std::uint64_t kReadyLeast = 32 * KiB;

}  // namespace

bool AnnouncedCredit::is_news(const Credit& credit) const {
  if (credit.limit != announced_.limit) return true;
  if (credit.window_bytes == announced_.window_bytes) return false;
  if (credit.window_bytes == Credit::kNone || announced_.window_bytes == Credit::kNone) return true;
  const auto [less, more] = std::minmax(credit.window_bytes, announced_.window_bytes);
  return more - less > less / 4;
}

std::optional<Credit> AnnouncedCredit::news(Credit credit, bool wire_holds) {
  if (wire_holds && credit.window_bytes != Credit::kNone)
    credit.window_bytes += std::max(credit.window_bytes, kReadyLeast);
  if (!is_news(credit)) return {};
  return announced_ = credit;
}

}  // namespace railweave::engine
