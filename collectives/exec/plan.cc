#include "collectives/exec/plan.h"

#include <algorithm>
#include <utility>

namespace railweave::collectives {

Plan::Plan(Schedule schedule, bool at_once) : schedule_(std::move(schedule)), at_once_(at_once) {
  const std::size_t n = schedule_.steps.size();
  waits_for_.resize(n);
  dependents_begin_.assign(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const Step& s = schedule_.steps[i];
    waits_for_[i] = s.after_end - s.after_begin;
    for (std::uint32_t k = s.after_begin; k < s.after_end; ++k) ++dependents_begin_[schedule_.after[k] + 1];
  }
  for (std::size_t i = 0; i < n; ++i) dependents_begin_[i + 1] += dependents_begin_[i];
  dependents_.resize(dependents_begin_[n]);
  std::vector<std::uint32_t> filled = dependents_begin_;
  for (std::size_t i = 0; i < n; ++i) {
    const Step& s = schedule_.steps[i];
    for (std::uint32_t k = s.after_begin; k < s.after_end; ++k)
      dependents_[filled[schedule_.after[k]]++] = std::uint32_t(i);
    if (s.kind != Step::Kind::send && s.kind != Step::Kind::receive) continue;
    const bool sends = s.kind == Step::Kind::send;
    auto flow = std::ranges::find_if(flows_, [&](const Flow& f) { return f.peer == s.peer && f.sends == sends; });
    if (flow == flows_.end()) flow = flows_.insert(flows_.end(), Flow{s.peer, sends, {}});
    flow->steps.push_back(std::uint32_t(i));
  }
  std::stable_partition(flows_.begin(), flows_.end(), [](const Flow& f) { return !f.sends; });
}

}  // namespace railweave::collectives
