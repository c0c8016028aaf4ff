// A Group over an engine: takes calls, plans them, and runs them in order on the group's streams.
//
// Threads: calls of Group from any thread. submissions_mutex_ guards the submissions; the runner's lock guards all
// other state.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "collectives/exec/execution.h"
#include "collectives/exec/peer_streams.h"
#include "collectives/exec/planner.h"
#include "collectives/exec/runner.h"
#include "collectives/exec/scratch.h"
#include "collectives/group/call.h"
#include "collectives/group/desync_detector.h"
#include "collectives/group/fingerprint.h"
#include "collectives/group/learning.h"
#include "collectives/group/messages.h"
#include "collectives/group/operation_work.h"
#include "collectives/rendezvous/rendezvous.h"
#include "collectives/scheduler/scheduler.h"
#include "collectives/shared_memory/shm_queue.h"

namespace railweave::collectives {

class EngineGroup final : public Group, public Driven, public std::enable_shared_from_this<EngineGroup> {
 public:
  EngineGroup(std::shared_ptr<Runner> runner, std::shared_ptr<Engine> engine, Rendezvous place, const Options& options,
              std::vector<int> host_of, const Policy& policy, bool may_learn);
  ~EngineGroup() override;
  // Connects the group to its peers and to the runner. Call once, before any other function. The runner drives the
  // group from then on; before, no lock is needed.
  void join(std::unique_ptr<PeerStreams> peers, Planner planner) RW_NO_THREAD_SAFETY_ANALYSIS;
  // Replaces the planner, from the next operation on. REQUIRES: every rank calls this between the same two operations.
  void plan_by(Planner planner);
  bool is_of_one_host() const { return one_host_; }
  // Runs the operations that `queue` takes on the shm exchange, from the next operation on; null: none. REQUIRES: as
  // plan_by(), and no call from another thread meanwhile.
  void use_shm_exchange(std::unique_ptr<ShmQueue> queue);

  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }
  WorkPtr all_gather(const void*, void*, std::size_t, DataType, Hints) override;
  WorkPtr all_gather_v(const void*, void*, std::span<const std::size_t>, DataType, Hints) override;
  WorkPtr reduce_scatter(const void*, void*, std::size_t, DataType, Reduction, Hints, double) override;
  WorkPtr reduce_scatter_v(const void*, void*, std::span<const std::size_t>, DataType, Reduction, Hints,
                           double) override;
  WorkPtr all_reduce(const void*, void*, std::size_t, DataType, Reduction, Hints, double) override;
  WorkPtr broadcast(const void*, void*, std::size_t, DataType, int root, Hints) override;
  WorkPtr reduce(const void*, void*, std::size_t, DataType, Reduction, int root, Hints, double) override;
  WorkPtr gather(const void*, void*, std::size_t, DataType, int root, Hints) override;
  WorkPtr scatter(const void*, void*, std::size_t, DataType, int root, Hints) override;
  WorkPtr all_to_all(const void*, void*, std::size_t, DataType, Hints) override;
  WorkPtr all_to_all_v(const void*, void*, std::span<const std::size_t>, std::span<const std::size_t>, DataType,
                       Hints) override;
  WorkPtr barrier(Hints) override;
  WorkPtr send(const void*, std::size_t, int to, std::uint32_t tag, Hints) override;
  WorkPtr recv(void*, std::size_t, int from, std::uint32_t tag, Hints) override;
  Status schedule_by(const std::string& policy) override;
  void abort(const std::string& why) override;
  // --- engine_group_diagnosis.cc
  std::vector<UnfinishedCall> unfinished() override;
  void when_failing(std::function<void(const Status&)> report) override;
  void ask_others() override;

  // --- Driven, under the runner's lock. The runner calls through Driven, where clang does not check the lock.
  bool advance() override RW_REQUIRES(runner_->mutex());
  void after_pass() override RW_REQUIRES(runner_->mutex());
  bool busy() const override RW_REQUIRES(runner_->mutex());
  Nanos may_rest() const override RW_REQUIRES(runner_->mutex());
  std::vector<std::function<void()>> take_callbacks() override RW_REQUIRES(runner_->mutex()) {
    return std::exchange(callbacks_, {});
  }

 private:
  static constexpr int kChannelsPerPriority = 2;         // so many operations of a priority can overtake each other
  static constexpr std::size_t kPromptBytes = 64 * KiB;  // from here on the runner's thread is woken at once
  static constexpr Nanos kAskEvery = std::chrono::milliseconds(300);  // store queries while operations stand still
  // standing still for so long, the ranks compare their operations (desync_detector.h); again after twice as long
  static constexpr Nanos kStandMost = std::chrono::seconds(2);
  static constexpr Nanos kAnnounceMost = std::chrono::seconds(2);  // a failing group waits so long for the store
  static constexpr Nanos kReportMost = std::chrono::seconds(5);    // a failing group waits so long for its report

  struct Submitted {
    std::shared_ptr<OperationWork> work;
    Call call;
    std::uint64_t number = 0;             // of the call, among the group's calls of its priority, in issue order
    Message message;                      // of send and recv
    bool is_message = false;              // true: `message` is set; false: `call`
    Scheduler::Id id = 0;                 // of a call, once taken up
    std::optional<Change> change;         // of `auto`, from this call on; none: no change
    std::optional<std::size_t> position;  // in the learned cycle; none: not in a cycle
    std::uint64_t issued_at = 0;          // V, bytes: `at` of Scheduler::issue()
    std::uint64_t order = 0;              // number among all calls and messages of the engine's groups
  };
  struct Running {
    std::shared_ptr<OperationWork> work;
    Scratch::Block scratch;
    std::unique_ptr<Execution> execution;
    Scheduler::Id id = 0;
    Fingerprint fingerprint = 0;
    Priority priority = Priority::normal;
  };

  // Makes a Call without Problem::host_of, which only schedules need.
  Call call_of(Operation operation, const void* input, void* output, DataType type, int root, const Hints& hints) const;
  WorkPtr submit(Call call);
  WorkPtr submit(Message message, Status refused);
  std::uint64_t next_order() { return scheduling_->issued.fetch_add(1, std::memory_order_relaxed); }
  std::shared_ptr<Learning> learning_for(const Policy& policy) const;
  StepLearner::Issued learn_from(const Call& call, OperationWork& work);
  void agree_on(std::shared_ptr<Agreement> agreement);
  bool make_change(const Change& change) RW_REQUIRES(runner_->mutex());
  bool busy_beside_calls() const RW_REQUIRES(runner_->mutex());  // busy with anything but running_
  const std::string& traced_name() const { return options_.traced_as.empty() ? options_.name : options_.traced_as; }
  std::shared_ptr<OperationWork> new_work() const { return std::make_shared<OperationWork>(origin_); }
  void take_submissions() RW_REQUIRES(runner_->mutex());
  void take_up(Submitted submitted) RW_REQUIRES(runner_->mutex());
  bool start_what_is_live(Status& failed) RW_REQUIRES(runner_->mutex());
  Status start(Submitted submitted) RW_REQUIRES(runner_->mutex());
  bool run(Status& failed) RW_REQUIRES(runner_->mutex());
  Status check_losses(bool moved) RW_REQUIRES(runner_->mutex());
  Status check_shm_exchange(TimePoint t) RW_REQUIRES(runner_->mutex());
  ProgressReport progress_report() const RW_REQUIRES(runner_->mutex());
  std::vector<UnfinishedCall> list_unfinished() RW_REQUIRES(runner_->mutex());
  void report_failing() RW_REQUIRES(runner_->mutex());
  void reported();
  // Begins to end the group: the first error counts. end() follows once the other ranks have been notified.
  void fail(Status why) RW_REQUIRES(runner_->mutex());
  bool end_if_announced() RW_REQUIRES(runner_->mutex());
  void end(Status why) RW_REQUIRES(runner_->mutex());
  std::shared_future<std::string> ask(std::function<std::string()> question);
  bool is_answered() const RW_REQUIRES(runner_->mutex());
  void finish(OperationWork& work, Status status, int source = -1, std::size_t bytes = 0) RW_REQUIRES(runner_->mutex());

  // held here, too: PeerStreams ends under the lock, and must not be the last holder, since an engine's end takes time
  const std::shared_ptr<Engine> engine_;
  const std::shared_ptr<Runner> runner_;
  Rendezvous place_;
  const Options options_;
  const std::vector<int> host_of_;  // see Problem::host_of
  const bool one_host_;             // all ranks are on one host
  const bool shares_host_;          // some ranks share a host
  const bool may_learn_;            // `auto` may learn; the same on every rank

  // These three are constant once create() has returned.
  std::shared_ptr<const WorkOrigin> origin_, shm_exchange_origin_;  // the second: of operations on the shm exchange
  std::shared_ptr<ShmQueue> shm_queue_;                             // null: no shm exchange

  Mutex submissions_mutex_;
  std::deque<Submitted> submissions_ RW_GUARDED_BY(submissions_mutex_);
  // next number of a call, by priority; for priority normal shm_queue_ counts instead, if set
  std::uint64_t issued_[kPriorities] RW_GUARDED_BY(submissions_mutex_) = {};
  std::shared_ptr<Learning> learning_ RW_GUARDED_BY(submissions_mutex_);  // null: the group does not learn
  // agreements under way, each with its all_reduce
  std::vector<std::pair<std::shared_ptr<Agreement>, WorkPtr>> agreeing_ RW_GUARDED_BY(submissions_mutex_);

  // Under the runner's lock.
  std::unique_ptr<PeerStreams> peers_ RW_GUARDED_BY(runner_->mutex());  // null once failed_
  std::unique_ptr<Messages> messages_ RW_GUARDED_BY(runner_->mutex());  // of send and recv
  std::unique_ptr<Planner> planner_ RW_GUARDED_BY(runner_->mutex());
  const std::shared_ptr<Scheduling> scheduling_;
  Scheduler* const scheduler_ RW_PT_GUARDED_BY(runner_->mutex());  // scheduling_'s
  const Scheduler::QueueId first_queue_;                           // of kPriorities queues, by priority
  // the latest change of `auto`; none: `auto` has changed nothing yet
  std::optional<Change> change_ RW_GUARDED_BY(runner_->mutex());
  // true: the calls left in submissions_ wait until the ranks have agreed on a change
  bool change_awaited_ RW_GUARDED_BY(runner_->mutex()) = false;
  // calls that have not been live yet, in issue order
  std::deque<Submitted> held_ RW_GUARDED_BY(runner_->mutex());
  Scratch scratch_ RW_GUARDED_BY(runner_->mutex());
  std::list<Running> running_ RW_GUARDED_BY(runner_->mutex());
  Status failed_ RW_GUARDED_BY(runner_->mutex());   // the first error, for good; ok: the group works
  Status failing_ RW_GUARDED_BY(runner_->mutex());  // the coming failed_, while the other ranks are notified
  TimePoint give_up_announcing_ RW_GUARDED_BY(runner_->mutex()){};  // when end() comes though the store did not answer
  std::function<void(const Status&)> report_ RW_GUARDED_BY(runner_->mutex());  // of when_failing(); null: none
  // when end() comes though report_ has not returned; TimePoint{}: no report is under way
  TimePoint give_up_reporting_ RW_GUARDED_BY(runner_->mutex()){};
  std::vector<UnfinishedCall> unfinished_when_failing_ RW_GUARDED_BY(runner_->mutex());
  // begin of standing still, or the last query to the store
  TimePoint quiet_since_ RW_GUARDED_BY(runner_->mutex()){};
  TimePoint standing_since_ RW_GUARDED_BY(runner_->mutex()){};        // begin of standing still
  Nanos compare_after_ RW_GUARDED_BY(runner_->mutex()) = kStandMost;  // standing still for so long
  bool published_progress_ RW_GUARDED_BY(runner_->mutex()) = false;   // the store has this rank's progress report
  // begin of standing still, or the last check of the shm exchange
  TimePoint exchange_quiet_since_ RW_GUARDED_BY(runner_->mutex()){};
  std::uint64_t ended_on_exchange_ RW_GUARDED_BY(runner_->mutex()) = 0;     // shm_queue_'s ended(), at the last pass
  std::shared_future<std::string> answer_ RW_GUARDED_BY(runner_->mutex());  // of the store: the failure reported first
  std::vector<std::function<void()>> callbacks_ RW_GUARDED_BY(runner_->mutex());
};

}  // namespace railweave::collectives
