#include "collectives/group/engine_group.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

namespace railweave::collectives {

EngineGroup::EngineGroup(std::shared_ptr<Runner> runner, std::shared_ptr<Engine> engine, Rendezvous place,
                         const Options& options, std::vector<int> host_of, const Policy& policy, bool may_learn)
    : engine_(std::move(engine)),
      runner_(std::move(runner)),
      place_(std::move(place)),
      options_(options),
      host_of_(std::move(host_of)),
      one_host_(!host_of_.empty() && std::ranges::all_of(host_of_, [](int host) { return host == 0; })),
      shares_host_(std::set(host_of_.begin(), host_of_.end()).size() < host_of_.size()),
      may_learn_(may_learn),
      learning_(learning_for(policy)),
      scheduling_(runner_->scheduling_of(engine_.get(), policy)),
      scheduler_(&scheduling_->scheduler),
      first_queue_(runner_->new_queues(kPriorities)) {}

void EngineGroup::join(std::unique_ptr<PeerStreams> peers, Planner planner) {
  peers_ = std::move(peers);
  planner_ = std::make_unique<Planner>(std::move(planner));
  messages_ =
      std::make_unique<Messages>(*peers_, options_.size, kPriorities * kChannelsPerPriority,
                                 [this](OperationWork& work, Status status, int source, std::size_t bytes)
                                     RW_REQUIRES(runner_->mutex()) { finish(work, std::move(status), source, bytes); });
  origin_ = std::make_shared<WorkOrigin>(WorkOrigin{runner_, weak_from_this(), nullptr, traced_name()});
  runner_->add(*this);
}

void EngineGroup::use_shm_exchange(std::unique_ptr<ShmQueue> queue) {
  if (!queue) return;
  const MutexLock held(runner_->mutex());  // passes read shm_queue_
  const MutexLock submissions(submissions_mutex_);
  queue->count_from(issued_[int(Priority::normal)]);
  shm_queue_ = std::move(queue);
  shm_exchange_origin_ = std::make_shared<WorkOrigin>(WorkOrigin{runner_, weak_from_this(), shm_queue_, traced_name()});
}

void EngineGroup::plan_by(Planner planner) {
  const MutexLock held(runner_->mutex());
  *planner_ = std::move(planner);
}

// --- issuing

WorkPtr EngineGroup::submit(Call call) {
  if (const Status refused = runner_->forked() ? Runner::dead_after_fork() : check(call); !refused.ok()) {
    auto work = new_work();
    (void)work->finish(refused);  // no callbacks: no caller has the work yet
    return work;
  }
  const bool promptly = call.input_bytes() + call.output_bytes() >= kPromptBytes;
  if (shm_queue_ && shm_queue_->takes(call)) {
    auto work = std::make_shared<OperationWork>(shm_exchange_origin_);
    if (shm_queue_->add(work, call)) {
      runner_->submitted(promptly);
      return work;
    }
  }
  auto work = new_work();
  StepLearner::Issued learned = learn_from(call, *work);
  if (learned.agree) agree_on(std::move(learned.agree));
  call.problem.host_of = host_of_;
  if (!one_host_ && call.wants_short_chunks()) call.problem.chunk_bytes = kEagerLimitMaxBytes;
  {
    const MutexLock lock(submissions_mutex_);
    const bool counted_by_shm_queue = shm_queue_ && call.hints.priority == Priority::normal;
    const std::uint64_t number =
        counted_by_shm_queue ? shm_queue_->publish_issued(call) : issued_[int(call.hints.priority)]++;
    if (trace::on()) work->issued(fingerprint_with_counts(call, number), call.most_bytes(), call.hints.priority);
    const std::size_t bytes = call.agreed_bytes();
    const std::uint64_t at =
        bytes < Scheduler::kSmallBytes ? 0 : scheduling_->issued_bytes.fetch_add(bytes, std::memory_order_relaxed);
    submissions_.push_back({.work = work,
                            .call = std::move(call),
                            .number = number,
                            .message = {},
                            .is_message = false,
                            .id = 0,
                            .change = std::move(learned.change),
                            .position = learned.position,
                            .issued_at = at,
                            .order = next_order()});
  }
  runner_->submitted(promptly);
  return work;
}

WorkPtr EngineGroup::submit(Message message, Status refused) {
  auto work = new_work();
  if (runner_->forked()) refused = Runner::dead_after_fork();
  if (!refused.ok()) {
    (void)work->finish(refused);
    return work;
  }
  {
    const MutexLock lock(submissions_mutex_);
    submissions_.push_back({.work = work,
                            .call = {},
                            .number = 0,
                            .message = message,
                            .is_message = true,
                            .id = 0,
                            .change = {},
                            .position = {},
                            .issued_at = 0,
                            .order = next_order()});
  }
  runner_->submitted(message.bytes >= kPromptBytes);
  return work;
}

Status EngineGroup::schedule_by(const std::string& text) {
  if (runner_->forked()) return Runner::dead_after_fork();
  RW_ASSIGN_OR_RETURN(const Policy policy, parse_policy(text));
  const MutexLock held(runner_->mutex());
  {
    const MutexLock lock(submissions_mutex_);
    learning_ = learning_for(policy);
    for (Submitted& s : submissions_) s.change.reset(), s.position.reset();  // of the former policy
  }
  scheduler_->withdraw(first_queue_, now());
  policy.learns ? scheduler_->open_to_proposals(now()) : scheduler_->set_window(policy.window, now());
  change_.reset();
  return {};
}

std::shared_ptr<Learning> EngineGroup::learning_for(const Policy& policy) const {
  return policy.learns && may_learn_ ? std::make_shared<Learning>() : nullptr;
}

// Uses only operations that move the same bytes on every rank, so that all ranks learn alike.
StepLearner::Issued EngineGroup::learn_from(const Call& call, OperationWork& work) {
  std::shared_ptr<Learning> learning;
  {
    const MutexLock lock(submissions_mutex_);
    learning = learning_;
  }
  if (!learning) return {};
  switch (call.problem.operation) {
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_reduce:
    case Operation::broadcast:
    case Operation::reduce: break;
    default: return {};
  }
  const std::size_t bytes = call.agreed_bytes();
  if (bytes < Scheduler::kSmallBytes) return {};
  const std::uint64_t what = (std::uint64_t(bytes) * kPriorities + std::uint64_t(call.hints.priority)) * kOperations +
                             std::uint64_t(call.problem.operation);
  StepLearner::Issued issued = learning->issued(what, bytes, now());
  if (issued.watched) work.report_wait_to(std::move(learning), *issued.watched);
  return issued;
}

void EngineGroup::agree_on(std::shared_ptr<Agreement> agreement) {
  static_assert(RepeatFinder::kPeriodMost * sizeof(std::int64_t) < Scheduler::kSmallBytes,
                "or this would be learned from");
  auto& values = agreement->values;
  WorkPtr work = all_reduce(values.data(), values.data(), values.size(), DataType::int64, Reduction::max, {}, 1);
  const MutexLock lock(submissions_mutex_);
  agreeing_.emplace_back(std::move(agreement), std::move(work));
}

// --- under the runner's lock

void EngineGroup::finish(OperationWork& work, Status status, int source, std::size_t bytes) {
  for (auto& callback : work.finish(std::move(status), source, bytes)) callbacks_.push_back(std::move(callback));
}

bool EngineGroup::busy_beside_calls() const {
  return !held_.empty() || change_awaited_ || (shm_queue_ && shm_queue_->busy()) || (messages_ && messages_->busy()) ||
         !failing_.ok();
}

bool EngineGroup::busy() const { return !running_.empty() || busy_beside_calls(); }

// Returns half of the time that the network, at its best, needs for the bytes that are posted.
Nanos EngineGroup::may_rest() const {
  if (busy_beside_calls()) return Nanos{0};
  if (running_.empty()) return Nanos::max();
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  for (const Running& running : running_) bytes = std::min(bytes, running.execution->bytes_on_their_way());
  const Costs& costs = planner_->costs();
  return (shares_host_ ? std::max(costs.rate_within, costs.rate_between) : costs.rate_between)
      .time_for(double(bytes) / 2);
}

bool EngineGroup::advance() {
  if (!failing_.ok()) return end_if_announced();
  take_submissions();
  if (!failed_.ok()) return false;
  Status failure;
  bool moved = false;
  if (!held_.empty()) moved = start_what_is_live(failure);
  if (failure.ok()) moved |= run(failure);
  if (shm_queue_ && failure.ok()) {
    moved |= shm_queue_->advance(callbacks_);
    moved |= shm_queue_->ended() != std::exchange(ended_on_exchange_, shm_queue_->ended());
    failure = shm_queue_->failure();
  }
  if (failure.ok()) failure = check_losses(moved);
  if (!failure.ok()) fail(std::move(failure));
  return moved;
}

// All groups of an engine share the scheduler: in each pass the first group does this for the others.
void EngineGroup::after_pass() {
  if (scheduler_->off()) return;
  if (scheduler_->held() > 0) scheduler_->pass_turn(now());
  const auto most = scheduler_->take_most_live();
  if (trace::on()) record_live(most);
}

void EngineGroup::take_submissions() {
  const MutexLock lock(submissions_mutex_);
  std::erase_if(agreeing_, [](auto& one) {
    const bool over = static_cast<OperationWork&>(*one.second).over();
    if (over && one.second->status().ok()) one.first->over = true;
    return over;
  });
  change_awaited_ = false;
  std::erase_if(submissions_, [this](Submitted& s) RW_REQUIRES(runner_->mutex()) {
    if (!failed_.ok()) return finish(*s.work, failed_), true;
    // Messages overtake calls that wait for a change: the ranks may be able to agree only after such a message.
    if (!s.is_message) change_awaited_ = change_awaited_ || (s.change && !make_change(*s.change));
    if (change_awaited_ && !s.is_message) return false;
    take_up(std::move(s));
    return true;
  });
}

// Returns false if the ranks have not agreed yet on the values that the change depends on.
bool EngineGroup::make_change(const Change& change) {
  if (!change.ready()) return false;
  if (change.step_bytes() > 0) {
    scheduler_->propose(first_queue_, change.step_bytes(), kCandidates[change.candidate()].window, now());
  } else {
    scheduler_->withdraw(first_queue_, now());
  }
  if (change.settles()) {
    const auto times = change.times();
    RW_INFO(net, "group '{}': auto keeps {} (a step: {} {:.1f} ms, {} {:.1f} ms, {} {:.1f} ms)", traced_name(),
            kCandidateNames[change.candidate()], kCandidateNames[0], double(times[0]) / 1e6, kCandidateNames[1],
            double(times[1]) / 1e6, kCandidateNames[2], double(times[2]) / 1e6);
  }
  change_ = change;
  return true;
}

void EngineGroup::take_up(Submitted submitted) {
  if (submitted.is_message) {
    submitted.message.order = submitted.message.bytes < Scheduler::kSmallBytes ? 0 : submitted.order;
    return messages_->add(std::move(submitted.work), submitted.message);
  }
  const Call& call = submitted.call;
  const Scheduler::QueueId queue = first_queue_ + Scheduler::QueueId(call.hints.priority);
  const Change::Lead lead =
      change_ && submitted.position && scheduler_->open() ? change_->lead(*submitted.position) : Change::Lead();
  submitted.id = scheduler_->issue(queue, call.hints.priority, call.agreed_bytes(), submitted.issued_at, now(), lead);
  held_.push_back(std::move(submitted));
}

// Starts calls in issue order within a priority, small ones too. The calls of a priority share channels, so they must
// begin in the same order on every rank.
bool EngineGroup::start_what_is_live(Status& failed) {
  bool started = false;
  std::array<bool, kPriorities> waits{};
  for (auto next = held_.begin(); failed.ok() && next != held_.end();) {
    bool& priority_waits = waits[std::size_t(next->call.hints.priority)];
    priority_waits = priority_waits || !scheduler_->live(next->id);
    if (priority_waits) {
      ++next;
      continue;
    }
    Submitted submitted = std::move(*next);
    next = held_.erase(next);
    failed = start(std::move(submitted));
    started = true;
  }
  return started;
}

Status EngineGroup::start(Submitted submitted) {
  const Call& call = submitted.call;
  auto plan = planner_->plan(call.problem);
  // Callers wait for urgent operations in order. A plan that sends all at once has no latency for another operation to
  // hide.
  const bool in_order = call.hints.priority == Priority::urgent && plan->at_once();
  const int channel =
      int(call.hints.priority) * kChannelsPerPriority + (in_order ? 0 : int(submitted.number % kChannelsPerPriority));
  const std::size_t scratch_bytes = plan->schedule().scratch_bytes;
  Scratch::Block scratch = scratch_.take(scratch_bytes);
  if (scratch_bytes > 0 && !scratch.memory) {
    Status why(Code::exhausted, Scope::session, fmt::format("no {} bytes of memory for an operation", scratch_bytes));
    finish(*submitted.work, why);
    scheduler_->finish(submitted.id, now());
    return why;
  }
  const Execution::Memory memory{static_cast<const std::byte*>(call.input), static_cast<std::byte*>(call.output),
                                 scratch.memory.get()};
  const Fingerprint print = fingerprint_with_counts(call, submitted.number);
  submitted.work->live();
  auto execution =
      std::make_unique<Execution>(std::move(plan), memory, call.how, print, *peers_,
                                  Execution::Sending{.channel = channel,
                                                     .priority = call.hints.priority,
                                                     .number = submitted.order,
                                                     .first = call.agreed_bytes() < Scheduler::kSmallBytes});
  running_.push_back(
      {std::move(submitted.work), std::move(scratch), std::move(execution), submitted.id, print, call.hints.priority});
  return {};
}

bool EngineGroup::run(Status& failed) {
  bool moved = false;
  if (failed = peers_->advance(); !failed.ok()) return false;
  for (auto r = running_.begin(); r != running_.end();) {
    if (r->work->awaited()) r->execution->expedite();
    auto did = r->execution->advance(scheduler_->live(r->id));
    if (!did.ok()) return failed = did.status(), moved;
    moved |= *did;
    if (!r->execution->done()) {
      if (*did && !scheduler_->off()) scheduler_->moved(r->id, now());
      ++r;
      continue;
    }
    finish(*r->work, {});
    scheduler_->finish(r->id, now());
    scratch_.give_back(std::move(r->scratch));
    r = running_.erase(r);
    moved = true;
  }
  if (!messages_->busy()) return moved;
  auto did = messages_->advance();
  if (!did.ok()) return failed = did.status(), moved;
  return moved || *did;
}

}  // namespace railweave::collectives
