#include "net_perf/proxy_loop.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "common/console.h"
#include "common/idle.h"
#include "net_perf/stop_agreement.h"

namespace railweave::perf::net_perf {
namespace {

// Intervals at which the control connection is read.
constexpr Nanos kListenEvery = std::chrono::milliseconds(10), kListenEveryInTheEnd = std::chrono::microseconds(200);
constexpr Nanos kProgressEvery = std::chrono::seconds(1);

}  // namespace

ProxyLoop::ProxyLoop(ControlConnection& control, FlowSet& flows, const LoopOptions& options)
    : control_(control), flows_(flows), options_(options), accounts_(flows.receives.size()) {}

Result<bool> ProxyLoop::pass() {
  bool moved = false;
  for (auto& flow : flows_.sends) {
    RW_ASSIGN_OR_RETURN(const bool some, flow->step());
    moved |= some;
  }
  for (auto& flow : flows_.receives) {
    RW_ASSIGN_OR_RETURN(const bool some, flow->step());
    moved |= some;
  }
  ++flows_.totals.passes;
  return moved;
}

bool ProxyLoop::all_at_goal() const {
  const auto at_goal = [](const auto& flow) { return flow->at_goal(); };
  return std::all_of(flows_.sends.begin(), flows_.sends.end(), at_goal) &&
         std::all_of(flows_.receives.begin(), flows_.receives.end(), at_goal);
}

void ProxyLoop::open_accounts() {
  for (std::size_t i = 0; i < accounts_.size(); ++i) accounts_[i] = Account{flows_.receives[i]->done_bytes(), 0, 0};
}

void ProxyLoop::close_accounts(const TimedBlock& block, TimePoint t, bool only_finished) {
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    Account& account = accounts_[i];
    if (account.seconds > 0 || (only_finished && !flows_.receives[i]->at_goal())) continue;
    account.bytes = flows_.receives[i]->done_bytes() - account.bytes_before;
    account.seconds = double((t - block.began_at()).count()) / 1e9;
  }
}

void ProxyLoop::show_progress(const TimedBlock& block, TimePoint t) {
  if (!options_.progress || !block.began() || t < next_progress_) return;
  if (next_progress_ != TimePoint{}) {
    const Totals moved = flows_.totals - shown_;
    say(stderr, "{:6.1f} s   out {:8.3f} Gb/s   in {:8.3f} Gb/s\n", double((t - block.began_at()).count()) / 1e9,
        double(moved.sent_bytes) * 8e-9, double(moved.received_bytes) * 8e-9);
  }
  shown_ = flows_.totals;
  next_progress_ = t + kProgressEvery;
}

void ProxyLoop::tick(TimedBlock& block, TimedCommands& commands, TimePoint t) {
  switch (block.tick(t, flows_.totals)) {
    case TimedBlock::Edge::begins: open_accounts(); break;
    case TimedBlock::Edge::ends: close_accounts(block, t, false); break;
    case TimedBlock::Edge::none: break;
  }
  if (control_.rank() == 0 && block.began() && !block.ended()) commands.tick(t - block.began_at());
  show_progress(block, t);
}

// Calls `done(t)` after every pass to learn whether the load is over.
template <class Done>
Status ProxyLoop::run(TimedBlock& block, TimedCommands& commands, Done done) {
  block.start(now());
  tick(block, commands, now());  // a block without warm-up begins before anything moves
  while (true) {
    RW_ASSIGN_OR_RETURN(const bool moved, pass());
    const TimePoint t = now();
    tick(block, commands, t);
    RW_ASSIGN_OR_RETURN(const bool over, done(t));
    if (over) return {};
    if (!moved) idle(options_.sleep_us, flows_.totals);
  }
}

Status ProxyLoop::run_timed(TimedBlock& block, TimedCommands& commands) {
  for (auto& flow : flows_.sends) flow->set_goal(Flow::kNoGoal);
  for (auto& flow : flows_.receives) flow->set_goal(Flow::kNoGoal);
  StopAgreement agreement(control_, flows_);
  TimePoint next_listen{}, stop_at = TimePoint::max();
  return run(block, commands, [&](TimePoint t) -> Result<bool> {
    if (block.ended() && stop_at == TimePoint::max()) stop_at = t + kTail;
    if (t >= stop_at && !agreement.begun()) RW_TRY(agreement.begin());
    if (agreement.expecting() && t >= next_listen) {
      next_listen = t + (block.ended() ? kListenEveryInTheEnd : kListenEvery);
      RW_TRY(agreement.poll());
    }
    return agreement.agreed() && block.ended() && all_at_goal();
  });
}

Status ProxyLoop::run_counted(TimedBlock& block, TimedCommands& commands, const std::vector<std::uint64_t>& messages) {
  std::size_t i = 0;
  for (auto& flow : flows_.sends) flow->set_goal(flow->done() + messages[i++]);
  for (auto& flow : flows_.receives) flow->set_goal(flow->done() + messages[i++]);
  return run(block, commands, [&](TimePoint t) -> Result<bool> {
    close_accounts(block, t, true);
    if (!all_at_goal()) return false;
    block.end(t, flows_.totals);
    return true;
  });
}

}  // namespace railweave::perf::net_perf
