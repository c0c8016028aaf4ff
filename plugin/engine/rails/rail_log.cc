#include "engine/rails/rail_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace railweave::engine {
namespace {

std::uint64_t bit_of(int rail) { return std::uint64_t{1} << rail; }

bool carries(const std::vector<RailPair>& open, int rail) {
  return std::ranges::find(open, rail, &RailPair::local) != open.end();
}

}  // namespace

RailLog::RailLog(Reactor& reactor, const std::vector<Rail>& rails, std::shared_ptr<Session> session,
                 RailWarnBudget& warn_budget)
    : reactor_(reactor), rails_(rails), session_(std::move(session)), warn_budget_(warn_budget) {}

RailLog::~RailLog() {
  if (timer_) reactor_.cancel(timer_);
}

void RailLog::poll() {
  std::vector<LaneLoss> lost = session_->take_losses();
  if (session_->over() || session_->is_leaving()) return;
  const std::vector<RailPair> open = session_->rails_of_lanes();
  log_returns(open);
  if (losses_.empty()) {
    lanes_before_ = lost.empty() ? open.size() : std::max(lanes_before_, open.size() + lost.size());
    lanes_left_ = open.size();
    lost_at_ = now();
  }
  lanes_left_ = std::min(lanes_left_, open.size());
  for (LaneLoss& loss : lost)
    if (std::ranges::find(losses_, loss.rail, &LaneLoss::rail) == losses_.end()) losses_.push_back(std::move(loss));
  if (!losses_.empty() && !timer_) log_losses_later();
}

void RailLog::log_losses_later() {
  timer_ = reactor_.at(now() + kSettle, [this] {
    timer_ = 0;
    log_losses();
  });
}

void RailLog::log_returns(const std::vector<RailPair>& open) {
  for (int rail = 0; rail < int(rails_.size()); ++rail) {
    if ((logged_ & bit_of(rail)) == 0 || !carries(open, rail)) continue;
    logged_ &= ~bit_of(rail);
    log(rail, RailWarnBudget::About::comeback,
        fmt::format("carries again; {} {}", open.size(), open.size() == 1 ? "lane" : "lanes"));
  }
}

void RailLog::log(int rail, RailWarnBudget::About about, const std::string& what) {
  const std::string& name = rails_[std::size_t(rail)].name;
  if (warn_budget_.may_warn(rail, about, now()))
    RW_WARN(net, "rail {} to {}: {}", name, session_->peer(), what);
  else
    RW_INFO(net, "rail {} to {}: {}", name, session_->peer(), what);
}

void RailLog::log_losses() {
  if (session_->over() || session_->is_leaving()) return;
  const std::vector<RailPair> open = session_->rails_of_lanes();
  if (open.empty() && now() - lost_at_ < kPatience) return log_losses_later();
  const std::vector<LaneLoss> losses = std::exchange(losses_, {});
  for (const LaneLoss& loss : losses) {
    if ((logged_ & bit_of(loss.rail)) != 0 || carries(open, loss.rail)) continue;
    logged_ |= bit_of(loss.rail);
    if (loss.cause.empty()) continue;
    log(loss.rail, RailWarnBudget::About::loss,
        fmt::format("{}; {} of {} lanes left", loss.cause, lanes_left_, lanes_before_));
  }
  lanes_before_ = open.size();
}

}  // namespace railweave::engine
