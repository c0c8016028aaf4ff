#include "torch_ext/csrc/backend.h"

#include <c10/util/StringUtil.h>

#include <algorithm>

#include "base/clock.h"
#include "torch_ext/csrc/backend_registry.h"
#include "torch_ext/csrc/c10d_names.h"
#include "torch_ext/csrc/dumps.h"
#include "torch_ext/csrc/errors.h"
#include "torch_ext/csrc/gil.h"
#include "torch_ext/csrc/process_engine.h"
#include "torch_ext/csrc/torch_store.h"
#include "torch_ext/csrc/work_of_all.h"

namespace railweave::torch_ext {
namespace {

using namespace std::chrono_literals;

constexpr auto kEndless = std::chrono::hours(24 * 365);
constexpr Nanos kAskOthersEvery = 5s;  // of a group without unfinished operations, so that its rank dumps, too

std::chrono::milliseconds checked(std::chrono::milliseconds timeout) {
  TORCH_CHECK_VALUE(timeout > 0ms, "railweave: expected a timeout of more than 0, found ", timeout.count(), " ms");
  return timeout;
}

TimePoint deadline_of(TimePoint called, std::chrono::milliseconds timeout) {
  return timeout <= 0ms || timeout > kEndless ? TimePoint::max() : called + Nanos(timeout);
}

// Profiles show the name under which the user registered the backend. Null if that is our own name.
std::shared_ptr<const std::string> profile_title(const std::string& backend, std::string_view title) {
  const auto colon = title.find(':');
  if (title.compare(0, colon, backend) == 0) return nullptr;
  return std::make_shared<const std::string>(c10::str(backend, title.substr(colon)));
}

c10d::ErrorType kind_of(Code code) {
  switch (code) {
    case Code::ok: return c10d::ErrorType::SUCCESS;
    case Code::timed_out: return c10d::ErrorType::TIMEOUT;
    case Code::remote:
    case Code::left: return c10d::ErrorType::REMOTE_ERROR;
    default: return c10d::ErrorType::COMM_ERROR;
  }
}

// Returns "group 'x' (global ranks 2, 3)".
std::string full_name(const c10d::Backend::Options& options) {
  constexpr std::size_t kNamedMost = 16;
  std::vector<std::uint64_t> ranks = options.global_ranks_in_group;
  const bool more = ranks.size() > kNamedMost;
  if (more) ranks.resize(kNamedMost);
  return c10::str("group '", options.group_name, "' (global ranks ", c10::Join(", ", ranks), more ? ", ...)" : ")");
}

// Returns " of group ..."; empty if each rank has its global number in this group.
std::shared_ptr<const std::string> whose(const c10d::Backend::Options& options) {
  std::uint64_t own = 0;
  if (std::ranges::all_of(options.global_ranks_in_group, [&](std::uint64_t rank) { return rank == own++; }))
    return std::make_shared<const std::string>();
  return std::make_shared<const std::string>(c10::str(" of ", full_name(options)));
}

std::shared_ptr<collectives::Group> meet(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                         const c10d::Backend::Options& options) {
  const auto timeout = options.timeout;
  const std::string what = c10::str("railweave: rank ", rank, " of ", size, *whose(options));
  auto engine = process_engine();
  check_ok(engine.status(), what);
  const Nanos patience = timeout > kEndless ? Nanos(kEndless) : Nanos(timeout);
  auto group =
      collectives::Group::create(*engine, store_of(store), {"railweave", rank, size, patience, full_name(options)});
  check_ok(group.status(), what);
  return *group;
}

std::shared_ptr<GroupProgress> watched(const c10d::Backend::Options& options, int rank, int size,
                                       const std::shared_ptr<const InFlight>& in_flight,
                                       const std::shared_ptr<collectives::Group>& group) {
  GroupIdentity identity{options.group_name, options.global_ranks_in_group, rank, now()};
  if (identity.ranks.size() != std::size_t(size)) {
    identity.ranks.clear();
    for (int r = 0; r < size; ++r) identity.ranks.push_back(std::uint64_t(r));
  }
  auto progress = std::make_shared<GroupProgress>(std::move(identity), in_flight, group);
  add_to_dumps(progress);
  group->when_failing([progress](const Status& why) noexcept {
    progress->fail(why.code(), why.message());
    dump_failure("failed", why.message());
  });
  return progress;
}

}  // namespace

RailweaveBackend::RailweaveBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                                   c10::intrusive_ptr<Options> options)
    : c10d::Backend(rank, size),
      store_(std::move(store)),
      options_(std::move(options)),
      timeout_ms_(checked(options_->timeout).count()),
      whose_(whose(*options_)),
      group_(meet(store_, rank, size, *options_)),
      progress_(watched(*options_, rank, size, in_flight_, group_)) {
  init();
  if (dumps_failures()) static_cast<void>(deadlines_.expect(now() + kAskOthersEvery));
}

void RailweaveBackend::setTimeout(std::chrono::milliseconds timeout) {
  timeout_ms_ = checked(timeout).count();
  options_->timeout = timeout;  // callers of getBackendOptions() read this one
}

std::shared_ptr<collectives::Group> RailweaveBackend::group() const {
  const MutexLock lock(group_mutex_);
  if (!group_) check_ok(Status(Code::cancelled, Scope::engine, ended_), "railweave process group");
  return group_;
}

void RailweaveBackend::count(bool counted, bool message, std::int64_t by) {
  operations_ += std::uint64_t(by);
  if (counted) sequence_ += std::uint64_t(by);
  if (message) messages_ += std::uint64_t(by);
}

RailweaveBackend::Ready RailweaveBackend::prepare(Outline& outline, bool counted) {
  const bool message = outline.peer != OperationRecord::kNoPeer;
  count(counted, message, 1);
  try {
    if (operations_ == 1) progress_->describe(getGroupDesc());  // torch sets it once the backend exists
    outline.rank = rank_;
    outline.sequence = sequence_;
    outline.counted = counted;
    outline.id = operations_;
    outline.messages = messages_;
    outline.whose = whose_;
    outline.profile_title = profile_title(options_->backend, outline.title);
    auto work = c10::make_intrusive<RailweaveWork>(std::move(outline));
    auto marks = work->fetch();
    return {work, std::move(marks), in_flight_->add(work)};
  } catch (...) {
    count(counted, message, -1);  // the operation does not begin, here or at any rank
    throw;
  }
}

void RailweaveBackend::launch(Ready ready, const std::shared_ptr<collectives::Group>& group) {
  const auto& work = ready.work;
  work->begin([place = ready.place, unfinished = in_flight_, error = error_](const Status& status) {
    auto none = c10d::ErrorType::SUCCESS;
    if (!status.ok() && status.scope() != Scope::request) error->compare_exchange_strong(none, kind_of(status.code()));
    unfinished->remove(place, status, now());
  });
  for (std::size_t chunk = 0; chunk < ready.marks.size(); ++chunk)
    staging_.add(std::move(ready.marks[chunk]), [=](const Status& status) { work->launch(chunk, *group, status); });
}

RailweaveBackend::WorkPtr RailweaveBackend::submit(Submission submission, std::chrono::milliseconds timeout,
                                                   bool counted) {
  const auto group = this->group();
  const auto patience = timeout == c10d::kUnsetTimeout ? this->timeout() : timeout;
  const TimePoint called = now(), deadline = deadline_of(called, patience);
  c10::intrusive_ptr<RailweaveWork> work;
  {
    const ScopedLock<RecursiveMutex> lock(order_);
    Outline& outline = submission.outline();
    outline.called = called;
    outline.timeout = patience;
    outline.deadline = deadline;
    Ready ready = prepare(outline, counted);
    work = ready.work;
    launch(std::move(ready), group);
  }
  if (deadline != TimePoint::max()) check_ok(deadlines_.expect(deadline), submission.caller().title);
  const MutexLock lock(coalescing_mutex_);
  if (coalescing_ == std::this_thread::get_id()) coalesced_.push_back(work);
  return work;
}

TimePoint RailweaveBackend::end_what_is_late() {
  TimePoint next = TimePoint::max();
  for (const auto& work : in_flight_->all()) {
    if (work->deadline() <= now()) {
      end_late(*work);
      return TimePoint::max();
    }
    next = std::min(next, work->deadline());
  }
  if (!dumps_failures()) return next;
  std::shared_ptr<collectives::Group> group;
  {
    const MutexLock lock(group_mutex_);
    group = group_;
  }
  if (!group) return next;
  group->ask_others();
  return std::min(next, now() + kAskOthersEvery);
}

void RailweaveBackend::end_late(const RailweaveWork& work) {
  auto none = c10d::ErrorType::SUCCESS;
  error_->compare_exchange_strong(none, c10d::ErrorType::TIMEOUT);
  std::shared_ptr<collectives::Group> group;
  {
    const MutexLock lock(group_mutex_);
    group = group_;
  }
  const std::string why = c10::str("Timed out after ", work.timeout().count(), " ms: ", work.description());
  progress_->fail(Code::timed_out, why);
  dump_failure("timeout", why);  // before the group and its operations end
  staging_.end(Status(Code::timed_out, Scope::engine, why));
  if (group) group->abort(why);  // callbacks of the group may drop this backend
}

void RailweaveBackend::check_root(std::int64_t root, const Caller& caller) const {
  TORCH_CHECK(root >= 0 && root < size_, caller, ": invalid root rank: ", root, " of ", size_, " ranks");
}

void RailweaveBackend::startCoalescing() {
  const MutexLock lock(coalescing_mutex_);
  coalescing_ = std::this_thread::get_id();
  coalesced_.clear();
}

RailweaveBackend::WorkPtr RailweaveBackend::endCoalescing() {
  const MutexLock lock(coalescing_mutex_);
  coalescing_ = {};
  return c10::make_intrusive<WorkOfAll>(rank_, std::exchange(coalesced_, {}));
}

void RailweaveBackend::waitForPendingWorks() {
  for (const auto& work : in_flight_->all()) work->wait(kNoTimeout);
}

c10::intrusive_ptr<c10d::Backend> RailweaveBackend::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                          const std::vector<int>& ranks,
                                                          const c10::intrusive_ptr<c10d::Backend::Options>& options) {
  const auto mine = std::ranges::find(ranks, rank_);
  if (mine == ranks.end()) return nullptr;
  auto own = c10::make_intrusive<Options>(options ? options->timeout : timeout(), options_->backend);
  if (options) take_group(*options, *own);
  own->global_ranks_in_group.clear();  // the given ones are this backend's
  for (const int rank : ranks) {
    const auto& of_all = options_->global_ranks_in_group;
    own->global_ranks_in_group.push_back(std::size_t(rank) < of_all.size() ? of_all[std::size_t(rank)]
                                                                           : std::uint64_t(rank));
  }
  auto part =
      c10::make_intrusive<RailweaveBackend>(store, int(mine - ranks.begin()), int(ranks.size()), std::move(own));
  register_backend(part);
  return part;
}

std::shared_ptr<collectives::Group> RailweaveBackend::end_group(const char* why) {
  const MutexLock lock(group_mutex_);
  if (group_) ended_ = why;
  return std::exchange(group_, nullptr);
}

void RailweaveBackend::abort() {
  const WithoutGil released;
  const auto group = end_group("it was aborted");
  const std::string why = c10::str("rank ", rank_, " aborted its process group");
  if (group) group->abort(why);
  staging_.end(Status(Code::cancelled, Scope::engine, why));
}

void RailweaveBackend::shutdown() {
  {
    const WithoutGil released;
    await_collectives();
  }
  leave();
}

// Waits for every collective, also those whose Work was dropped. Each ends by its own deadline or with its group.
void RailweaveBackend::await_collectives() {
  if (origin_.in_child()) return;
  for (const auto& work : in_flight_->all()) {
    if (c10d::isP2POp(work->retrieveOpType())) continue;
    try {
      work->wait(timeout());
    } catch (const std::exception&) {  // the holder of the Work gets the error from the Work
    }
  }
}

void RailweaveBackend::schedule_by(const std::string& policy) {
  await_collectives();
  const ScopedLock<RecursiveMutex> lock(order_);
  const Status scheduled = group()->schedule_by(policy);
  TORCH_CHECK_VALUE(scheduled.code() != Code::invalid_config, scheduled.message());
  check_ok(scheduled, "schedule_by");
}

void RailweaveBackend::leave() {
  const WithoutGil released;
  const auto last = end_group("it was shut down");  // destroyed without the lock
  staging_.end(Status(Code::cancelled, Scope::engine, "it was shut down"));
  staging_.drain();
  staging_.end_its_thread();
  deadlines_.end();
}

}  // namespace railweave::torch_ext
