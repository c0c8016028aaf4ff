// What a group tells of itself when it hangs or fails: its unfinished operations, and the report of its failure.
#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "collectives/group/engine_group.h"

namespace railweave::collectives {

std::vector<UnfinishedCall> EngineGroup::unfinished() {
  if (runner_->forked()) return {};
  const MutexLock held(runner_->mutex());
  return failed_.ok() && failing_.ok() ? list_unfinished() : unfinished_when_failing_;
}

std::vector<UnfinishedCall> EngineGroup::list_unfinished() {
  std::vector<UnfinishedCall> all;
  const auto add = [&all](const OperationWork* work, Fingerprint print, bool started, std::vector<int> awaited) {
    all.push_back({work, described(print), counts_of(print), started, std::move(awaited)});
  };
  if (shm_queue_) shm_queue_->list_unfinished(all);
  for (const Running& r : running_) add(r.work.get(), r.fingerprint, true, r.execution->awaited());
  for (const Submitted& s : held_) add(s.work.get(), fingerprint_with_counts(s.call, s.number), false, {});
  const MutexLock lock(submissions_mutex_);
  for (const Submitted& s : submissions_)
    if (!s.is_message) add(s.work.get(), fingerprint_with_counts(s.call, s.number), false, {});
  return all;
}

void EngineGroup::when_failing(std::function<void(const Status&)> report) {
  if (runner_->forked()) return;
  const MutexLock held(runner_->mutex());
  report_ = std::move(report);
}

// The report may write a file, so it runs as a callback, without the lock. An exception of the report goes no further:
// the thread drives other groups, too.
void EngineGroup::report_failing() {
  if (!report_ || failing_.code() == Code::cancelled) return;
  give_up_reporting_ = now() + kReportMost;
  callbacks_.push_back([report = std::exchange(report_, nullptr), why = failing_, weak = weak_from_this()] {
    const ScopeExit over([&weak] {
      if (const auto group = weak.lock()) group->reported();
    });
    try {
      report(why);
    } catch (const std::exception& error) {
      RW_WARN(net, "the report of a failing group threw an exception: {}", error.what());
    }
  });
}

void EngineGroup::reported() {
  const MutexLock held(runner_->mutex());
  give_up_reporting_ = {};
}

void EngineGroup::ask_others() {
  if (runner_->forked()) return;
  const MutexLock held(runner_->mutex());
  if (!failed_.ok() || !failing_.ok() || answer_.valid() || busy()) return;
  answer_ = ask([place = place_] { return place.first_failure(); });
}

}  // namespace railweave::collectives
