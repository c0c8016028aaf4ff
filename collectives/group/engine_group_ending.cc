// The end of a group: how the group learns of a lost rank, notifies the other ranks and ends. The store may be slow, so
// only background tasks query the store. Only abort() and the destructor wait for such a task, for kAnnounceMost at
// most, without the lock.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "collectives/group/engine_group.h"

namespace railweave::collectives {

EngineGroup::~EngineGroup() {
  if (runner_->forked()) return;
  runner_->remove(*this);
  const Status closed(Code::cancelled, Scope::engine,
                      fmt::format("rank {} closed the group while operations were unfinished", options_.rank));
  bool missed = false;
  {
    const MutexLock held(runner_->mutex());  // other groups share the scheduler
    take_submissions();
    missed = failed_.ok() && busy();
    if (missed && failing_.ok()) answer_ = ask([place = place_, closed] { return place.report_failure(closed); });
  }
  if (missed) answer_.wait_for(kAnnounceMost);
  {
    const MutexLock held(runner_->mutex());
    if (failed_.ok()) end(failing_.ok() ? closed : failing_);
  }
  if (published_progress_) runner_->run_in_background([place = place_] { place.withdraw_progress(); });
  for (auto& callback : take_callbacks()) callback();
}

std::shared_future<std::string> EngineGroup::ask(std::function<std::string()> question) {
  auto task = std::make_shared<std::packaged_task<std::string()>>([question = std::move(question)]() -> std::string {
    try {
      return question();
    } catch (const std::exception& e) {  // thrown by the application's Store: treated as an empty answer
      RW_WARN(net, "the store threw an exception: {}", e.what());
      return "";
    }
  });
  std::shared_future<std::string> answer(task->get_future());
  runner_->run_in_background([task] { (*task)(); });
  return answer;
}

bool EngineGroup::is_answered() const {
  return answer_.valid() && answer_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

// --- under the runner's lock

// Returns an error if a rank was lost, or runs another operation. Queries the store while nothing moves: a rank that
// another rank has lost may owe this rank nothing now, and then only the store reports the loss.
Status EngineGroup::check_losses(bool moved) {
  if (is_answered()) {
    const std::string heard = std::exchange(answer_, {}).get();
    if (!heard.empty()) return Status(Code::remote, Scope::session, heard);
  }
  if (moved || !busy()) {
    quiet_since_ = exchange_quiet_since_ = standing_since_ = TimePoint{};
    compare_after_ = kStandMost;
    return {};
  }
  const TimePoint t = now();
  if (shm_queue_) RW_TRY(check_shm_exchange(t));
  if (quiet_since_ == TimePoint{}) quiet_since_ = standing_since_ = t;
  if (answer_.valid() || t - quiet_since_ < kAskEvery) return {};
  quiet_since_ = t;
  if (t - standing_since_ < compare_after_ || running_.empty()) {
    answer_ = ask([place = place_] { return place.first_failure(); });
    return {};
  }
  compare_after_ *= 2;
  published_progress_ = true;
  answer_ = ask([place = place_, own = progress_report()] {
    std::string said = place.first_failure();
    return said.empty() ? compare(place, own) : said;
  });
  return {};
}

ProgressReport EngineGroup::progress_report() const {
  ProgressReport own{.rank = options_.rank, .doing = {}, .awaited = {}};
  for (const Running& r : running_) {
    Fingerprint& oldest = own.doing[std::size_t(r.priority)];
    if (oldest != 0) continue;
    oldest = r.fingerprint;
    for (const int rank : r.execution->awaited())
      if (std::ranges::find(own.awaited, rank) == own.awaited.end()) own.awaited.push_back(rank);
  }
  return own;
}

// Returns an error if the exchange waits for a rank that is gone, or that runs another operation: such a rank posts
// nothing. A rank that runs an operation on the exchange, which is due over streams, sends nothing. The store is not
// queried, since the store may not answer.
Status EngineGroup::check_shm_exchange(TimePoint t) {
  if (exchange_quiet_since_ == TimePoint{}) exchange_quiet_since_ = t;
  if (t - exchange_quiet_since_ < kAskEvery) return {};
  exchange_quiet_since_ = t;
  RW_TRY(shm_queue_->check_awaited());
  const auto streamed = std::ranges::find(running_, Priority::normal, &Running::priority);
  if (streamed != running_.end()) RW_TRY(shm_queue_->check_streamed(streamed->fingerprint));
  for (const int rank : shm_queue_->awaited()) {
    const Status gone = peers_->check_peer(rank);
    // Asked again: the rank may have posted its part and left in an orderly way since the first awaited().
    if (!gone.ok() && std::ranges::count(shm_queue_->awaited(), rank) > 0) return PeerStreams::lost(rank, gone);
  }
  return {};
}

// From here on the group stands still. The other ranks are notified before our streams end; otherwise they would only
// learn that this rank is gone.
void EngineGroup::fail(Status why) {
  if (!failed_.ok() || !failing_.ok()) return;
  unfinished_when_failing_ = list_unfinished();
  failing_ = std::move(why);
  report_failing();
  give_up_announcing_ = now() + kAnnounceMost;
  answer_ = ask([place = place_, failing = failing_] { return place.report_failure(failing); });
}

bool EngineGroup::end_if_announced() {
  const TimePoint t = now();
  if (t < give_up_reporting_ || (!is_answered() && t < give_up_announcing_)) return false;
  end(std::exchange(failing_, {}));
  return true;
}

// Ends the streams first: after that no thread accesses the callers' memory, and works may end.
void EngineGroup::end(Status why) {
  take_submissions();
  const std::string began = is_answered() ? answer_.get() : "";
  const std::string& said = began.empty() ? why.message() : began;
  failed_ = Status(why.code(), why.scope(), fmt::format("group '{}', rank {}: {}", options_.name, options_.rank, said),
                   why.system_errno());
  failing_ = {};
  if (why.code() != Code::cancelled) RW_WARN(net, "{}", failed_.message());
  peers_.reset();
  for (Running& r : running_) {
    finish(*r.work, failed_);
    scheduler_->finish(r.id, now());
  }
  running_.clear();
  if (shm_queue_)
    for (const auto& work : shm_queue_->close()) finish(*work, failed_);
  if (messages_)
    for (const auto& work : messages_->abandon()) finish(*work, failed_);
  for (Submitted& held : held_) {
    finish(*held.work, failed_);
    scheduler_->finish(held.id, now());
  }
  held_.clear();
  scheduler_->withdraw(first_queue_, now());
  take_submissions();  // ends calls that waited for an agreement
}

// --- any thread

void EngineGroup::abort(const std::string& why) {
  if (runner_->forked()) return;
  std::shared_future<std::string> announced;
  {
    const MutexLock held(runner_->mutex());
    std::vector<int> awaited = shm_queue_ ? shm_queue_->awaited() : std::vector<int>();
    if (awaited.empty() && !running_.empty()) awaited = running_.front().execution->awaited();
    const std::string whom =
        awaited.empty() ? "" : fmt::format(" (its oldest operation waits for rank {})", fmt::join(awaited, ", "));
    fail(Status(Code::cancelled, Scope::engine, fmt::format("rank {} gave up: {}{}", options_.rank, why, whom)));
    if (failing_.ok()) return;
    announced = answer_;
  }
  announced.wait_for(kAnnounceMost);
  std::vector<std::function<void()>> callbacks;
  {
    const MutexLock held(runner_->mutex());
    if (!failing_.ok()) end(std::exchange(failing_, {}));
    callbacks = take_callbacks();
  }
  for (auto& callback : callbacks) callback();
}

}  // namespace railweave::collectives
