#include "protocol/credit_window.h"

#include <algorithm>
#include <utility>

namespace railweave::protocol {
namespace {

// longest time between two polls that counts; while data waits, polls come more often
constexpr Nanos kPollMost = std::chrono::milliseconds(100);

std::uint64_t left(std::uint64_t most, std::uint64_t used) {
  return most == Credit::kNone ? most : most - std::min(most, used);
}

}  // namespace

void CreditWindow::apply(std::uint64_t edition, const Credit& credit) {
  if (edition <= edition_) return;
  edition_ = edition;
  credit_ = credit;
  starved_ = false;
}

// A window that is used up does not count as starvation: the receiver's kernel makes room again. A window that is too
// small for any segment stays so. An idle lane is not polled, nor is any lane while this process stands still. Such
// time does not count against the receiver.
void CreditWindow::observe(TimePoint now, std::uint64_t position, bool waits) {
  refused_ = refused_ && waits;
  if (refused_) without_credit_ += std::min(now - now_, kPollMost);
  let_go_at_ += std::max(Nanos{0}, now - now_ - kPollMost);
  now_ = now;
  const bool lets_nothing_go = credit_.window_bytes < kLeastBytes || left(credit_.limit, position) < kLeastBytes;
  if (!waits || !lets_nothing_go) let_go_at_ = now;
  starved_ = now >= let_go_at_ + kStarvedMost;
}

std::optional<CreditWindow::Override> CreditWindow::took() {
  std::optional<Override> first;
  if (starved_ && !std::exchange(reported_, true)) first = {.said = credit_, .let_nothing_go = now_ - let_go_at_};
  refused_ = false;
  let_go_at_ = now_;
  starved_ = false;
  return first;
}

std::uint64_t CreditWindow::room(std::uint64_t outstanding_bytes, std::uint64_t position) const {
  const Credit credit = standing();
  return std::min(left(credit.window_bytes, outstanding_bytes), left(credit.limit, position));
}

bool CreditWindow::is_held(std::uint64_t position) const { return left(standing().limit, position) < kLeastBytes; }

}  // namespace railweave::protocol
