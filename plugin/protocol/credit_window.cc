#include "protocol/credit_window.h"

#include <algorithm>

namespace railweave::protocol {
namespace {

std::uint64_t left(std::uint64_t most, std::uint64_t used) { return most == Credit::kNone ? most : most - std::min(most, used); }

}  // namespace

void CreditWindow::hear(std::uint64_t edition, const Credit& credit) {
  if (edition <= edition_) return;
  edition_ = edition;
  credit_ = credit;
}

void CreditWindow::look(TimePoint now) {
  if (now_ == TimePoint{}) took_at_ = now;  // the first look
  now_ = now;
}

std::uint64_t CreditWindow::room(std::uint64_t outstanding_bytes, std::uint64_t position) const {
  const std::uint64_t room = std::min(left(credit_.window_bytes, outstanding_bytes), left(credit_.limit, position));
  return room == 0 && now_ >= took_at_ + kStarvedMost ? left(kStarvedBytes, outstanding_bytes) : room;
}

}  // namespace railweave::protocol
