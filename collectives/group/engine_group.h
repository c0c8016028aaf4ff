// A Group over an engine: takes calls, plans them, runs them in order on the group's streams.
//
// Threads: calls from any; submissions_ has its own mutex, everything else is under the runner's lock.
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
  // Once, before any other call: where the ranks are. From here on the runner drives it.
  // nobody drives it before
  void join(std::unique_ptr<PeerStreams> peers, Planner planner) RW_NO_THREAD_SAFETY_ANALYSIS;
  // From the next operation on. REQUIRES: every rank does so between the same two operations.
  void plan_by(Planner planner);
  bool is_of_one_host() const { return one_host_; }
  // What it takes is done there from the next operation on. REQUIRES: as above.
  void use_exchange(std::unique_ptr<ShmQueue> queue);

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

  // --- Driven, under the runner's lock. The runner calls through Driven, where clang does not see it.
  bool advance() override RW_REQUIRES(runner_->mutex());
  void check_peers() override RW_REQUIRES(runner_->mutex());
  bool busy() const override RW_REQUIRES(runner_->mutex());
  Nanos may_rest() const override RW_REQUIRES(runner_->mutex());
  std::vector<std::function<void()>> take_callbacks() override RW_REQUIRES(runner_->mutex()) {
    return std::exchange(callbacks_, {});
  }

 private:
  static constexpr int kChannelsPerClass = 2;  // so many operations of a class overtake each other
  static constexpr std::size_t kPromptBytes = 64 * KiB;
  static constexpr Nanos kAskEvery = std::chrono::milliseconds(300);  // while operations stand still
  // then the ranks compare what they do; again after twice that
  static constexpr Nanos kStandMost = std::chrono::seconds(2);
  static constexpr Nanos kAnnounceMost = std::chrono::seconds(2);  // then it ends though the store did not answer

  struct Submitted {
    std::shared_ptr<OperationWork> work;
    Call call;
    std::uint64_t number = 0;  // of the group's calls of its class, in issue order
    Message message;           // of send and recv
    bool is_message = false;
    Scheduler::Id id = 0;                 // of a call, once it was taken up
    std::optional<Change> change;         // what `auto` does from it on
    std::optional<std::size_t> position;  // in the learned cycle
    std::uint64_t issued_at = 0;          // V, see Scheduler::issue
    std::uint64_t order = 0;              // its number among all that the engine's groups issued
  };
  struct Running {
    std::shared_ptr<OperationWork> work;
    Scratch::Block scratch;
    std::unique_ptr<Execution> execution;
    Scheduler::Id id = 0;
    Fingerprint fingerprint = 0;
    Priority priority = Priority::normal;
  };

  // Without host_of, which only schedules ask for.
  Call call_of(Operation operation, const void* input, void* output, DataType type, int root, const Hints& hints) const;
  WorkPtr submit(Call call);
  WorkPtr submit(Message message, Status refused);
  std::uint64_t next_order() { return scheduling_->issued.fetch_add(1, std::memory_order_relaxed); }
  std::shared_ptr<Learning> learning_for(const Policy& policy) const;
  StepLearner::Issued learn_from(const Call& call, OperationWork& work);
  void agree_on(std::shared_ptr<Agreement> agreement);
  bool make_change(const Change& change) RW_REQUIRES(runner_->mutex());
  bool busy_beside_calls() const RW_REQUIRES(runner_->mutex());  // with more than calls that run
  const std::string& traced_name() const { return options_.traced_as.empty() ? options_.name : options_.traced_as; }
  std::shared_ptr<OperationWork> new_work() const { return std::make_shared<OperationWork>(origin_); }
  void take_submissions() RW_REQUIRES(runner_->mutex());
  void take_up(Submitted submitted) RW_REQUIRES(runner_->mutex());
  bool start_what_is_live(Status& failed) RW_REQUIRES(runner_->mutex());
  Status start(Submitted submitted) RW_REQUIRES(runner_->mutex());
  bool run(Status& failed) RW_REQUIRES(runner_->mutex());
  Status check_losses(bool moved) RW_REQUIRES(runner_->mutex());
  Status check_exchange(TimePoint t) RW_REQUIRES(runner_->mutex());
  ProgressReport desync() const RW_REQUIRES(runner_->mutex());
  void fail(Status why) RW_REQUIRES(runner_->mutex());  // the first counts; ends once the others have been told
  bool end_if_announced() RW_REQUIRES(runner_->mutex());
  void end(Status why) RW_REQUIRES(runner_->mutex());
  std::shared_future<std::string> ask(std::function<std::string()> question);
  bool is_answered() const RW_REQUIRES(runner_->mutex());
  void finish(OperationWork& work, Status status, int source = -1, std::size_t bytes = 0) RW_REQUIRES(runner_->mutex());

  // its end takes time, so it is not left to PeerStreams, which end under the lock
  const std::shared_ptr<Engine> engine_;
  const std::shared_ptr<Runner> runner_;
  Rendezvous place_;
  const Options options_;
  const std::vector<int> host_of_;  // see Problem::host_of
  const bool one_host_;             // all ranks share it
  const bool shares_host_;          // some ranks do
  const bool may_learn_;            // the same on every rank

  // These three are constant once the group is there.
  std::shared_ptr<const TicketOrigin> origin_, exchange_origin_;  // exchange_origin_: of operations on the exchange
  std::shared_ptr<ShmQueue> shm_queue_;                           // null: no exchange

  Mutex submissions_mutex_;
  std::deque<Submitted> submissions_ RW_GUARDED_BY(submissions_mutex_);
  // of class normal line_ counts, if there is one
  std::uint64_t issued_[kPriorities] RW_GUARDED_BY(submissions_mutex_) = {};
  std::shared_ptr<Learning> learning_ RW_GUARDED_BY(submissions_mutex_);  // null: the policy is not auto
  std::vector<std::pair<std::shared_ptr<Agreement>, WorkPtr>> agreeing_ RW_GUARDED_BY(submissions_mutex_);

  // Under the runner's lock.
  std::unique_ptr<PeerStreams> peers_ RW_GUARDED_BY(runner_->mutex());  // null once failed
  std::unique_ptr<Messages> messages_ RW_GUARDED_BY(runner_->mutex());  // between two ranks
  std::unique_ptr<Planner> planner_ RW_GUARDED_BY(runner_->mutex());
  const std::shared_ptr<Scheduling> scheduling_;
  Scheduler* const scheduler_ RW_PT_GUARDED_BY(runner_->mutex());  // scheduling_'s
  const Scheduler::QueueId first_queue_;                           // of as many as there are classes
  // what `auto` made of the policy; none: it is still listening
  std::optional<Change> change_ RW_GUARDED_BY(runner_->mutex());
  // the calls that are left in submissions_ wait until the ranks have agreed
  bool change_awaited_ RW_GUARDED_BY(runner_->mutex()) = false;
  // calls that were never live so far, in issue order
  std::deque<Submitted> held_ RW_GUARDED_BY(runner_->mutex());
  Scratch scratch_ RW_GUARDED_BY(runner_->mutex());
  std::list<Running> running_ RW_GUARDED_BY(runner_->mutex());
  Status failed_ RW_GUARDED_BY(runner_->mutex());   // the first error sticks
  Status failing_ RW_GUARDED_BY(runner_->mutex());  // what it will be: the others are being told
  TimePoint give_up_telling_ RW_GUARDED_BY(runner_->mutex()){};
  // when something moved last, or the store was asked
  TimePoint quiet_since_ RW_GUARDED_BY(runner_->mutex()){};
  TimePoint standing_since_ RW_GUARDED_BY(runner_->mutex()){};        // when something moved last
  Nanos compare_after_ RW_GUARDED_BY(runner_->mutex()) = kStandMost;  // of standing still
  bool published_progress_ RW_GUARDED_BY(runner_->mutex()) = false;
  // likewise, or ranks that the exchange waits for were looked for
  TimePoint exchange_quiet_since_ RW_GUARDED_BY(runner_->mutex()){};
  std::uint64_t ended_on_exchange_ RW_GUARDED_BY(runner_->mutex()) = 0;     // as of the last pass
  std::shared_future<std::string> answer_ RW_GUARDED_BY(runner_->mutex());  // of the store: who was lost
  std::vector<std::function<void()>> callbacks_ RW_GUARDED_BY(runner_->mutex());
};

}  // namespace railweave::collectives
