#include "engine/rails/rail_warn_budget.h"

namespace railweave::engine {

bool RailWarnBudget::may_warn(int rail, About about, TimePoint t) {
  Window& window = windows_[{rail, about}];
  if (window.since == TimePoint::min() || t - window.since >= kWindow) window = {t, 0};
  return ++window.lines <= kPeersMost;
}

}  // namespace railweave::engine
