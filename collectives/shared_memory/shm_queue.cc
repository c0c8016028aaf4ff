#include "collectives/shared_memory/shm_queue.h"

#include <fmt/core.h>
#include <sched.h>

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "collectives/group/operation_work.h"
#include "collectives/schedule/algorithm_choice.h"
#include "collectives/shared_memory/pieces.h"

namespace railweave::collectives {
namespace {

// Polls of attend(): tens of microseconds if no other thread needs the core, and nothing moves.
constexpr int kPolls = 400;
constexpr int kPollsAtOnce = 25;  // the first of these keep the core
constexpr int kPollsBetweenClocks = 16;
constexpr int kPollsOfAMove = 100;  // weight of a poll that moved something: other groups need driving, too
constexpr int kTurns = 4;  // of advance(): a large operation must not delay the thread that issues the next one

// ShmQueue::missing_: rank + 1 in the lowest byte, the operation's number above.
static_assert(kShmRanksMax < 256);
std::uint64_t missing_of(int rank, std::uint64_t operation) { return operation << 8 | std::uint64_t(rank + 1); }
int rank_of(std::uint64_t missing) { return int(missing & 0xff) - 1; }
std::uint64_t operation_of(std::uint64_t missing) { return missing >> 8; }

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm("yield");
#endif
}

constexpr const char* kOtherCounts = "other counts";

}  // namespace

ShmQueue::ShmQueue(ShmExchange exchange, const std::string& named, bool in_pieces, std::optional<Neighbours> neighbours)
    : in_pieces_(in_pieces),
      neighbours_(std::move(neighbours)),
      exchange_(std::move(exchange)),
      inputs_(std::size_t(exchange_.ranks())),
      offered_(inputs_.size()) {
  for (int o = 0; o < kOperations; ++o) named_[std::size_t(o)] = !chosen_name(named, Operation(o)).empty();
}

bool ShmQueue::takes(const Call& call) const {
  if (call.hints.priority != Priority::normal || named_[std::size_t(call.problem.operation)]) return false;
  return fits_exchange(call) || (in_pieces_ && pieces(call) > 0);
}

void ShmQueue::count_from(std::uint64_t number) {
  const MutexLock lock(mutex_);
  next_ = number;
}

std::uint64_t ShmQueue::publish_issued(const Call& call) {
  const MutexLock lock(mutex_);
  exchange_.publish_issued(
      {fingerprint(call, next_), due_bytes(call.problem, exchange_.rank()), counts_hash(call.problem), false});
  return next_++;
}

bool ShmQueue::add(const std::shared_ptr<OperationWork>& work, Call& call) {
  const std::uint32_t hash = counts_hash(call.problem);
  const MutexLock lock(mutex_);
  if (closed_) return false;
  const Fingerprint print = fingerprint(call, next_++);
  if (trace::on()) {
    work->issued(print, call.most_bytes(), call.hints.priority);
    work->live();
  }
  exchange_.publish_issued({print, due_bytes(call.problem, exchange_.rank()), hash, true});
  const std::size_t count = pieces(call);
  const bool may_be = neighbours_ && may_be_offered(call);
  const bool offered = may_be && offering_.wanted() && Neighbours::readable(to_post(call));
  waiting_.push_back({.work = work,
                      .call = std::move(call),
                      .fingerprint = print,
                      .counts_hash = hash,
                      .pieces = count,
                      .may_be_offered = may_be,
                      .offered = offered});
  (void)post_next();
  return true;
}

std::uint64_t ShmQueue::ended() const {
  const MutexLock lock(mutex_);
  return first_ + over_;
}

bool ShmQueue::busy() const {
  const MutexLock lock(mutex_);
  return !waiting_.empty();
}

bool ShmQueue::advance(Callbacks& callbacks) {
  if (!mutex_.try_lock()) return false;
  const MutexLock lock(mutex_, std::adopt_lock);
  bool moved = false;
  for (int turns = 0; turns < kTurns && !waiting_.empty() && failure_.ok(); ++turns) {
    const bool posted = post_next();
    const bool completed = failure_.ok() && complete_oldest(callbacks);
    if (!posted && !completed) break;
    moved = true;
  }
  return moved;
}

void ShmQueue::attend(const OperationWork& work, TimePoint deadline, Callbacks& callbacks) {
  for (int polls = 0; polls < kPolls; ++polls) {
    const std::uint64_t missing = missing_.load(std::memory_order_relaxed);
    const bool looked = missing == 0 || is_there(rank_of(missing), operation_of(missing));
    const bool moved = looked && advance(callbacks);
    if (work.over() || !callbacks.empty()) return;
    if ((moved || polls % kPollsBetweenClocks == 0) && now() >= deadline) return;
    if (moved) {
      polls += kPollsOfAMove - 1;
    } else {
      polls < kPollsAtOnce ? pause_briefly() : void(::sched_yield());
    }
  }
}

Part ShmQueue::part_of(const Waiting& w, std::size_t index) { return w.pieces == 1 ? Part() : piece(w.call, index); }

bool ShmQueue::post_next() {
  if (next_to_post_ == waiting_.size() || !exchange_.has_room(posted_)) return false;
  if (posted_ >= ShmColumn::kSlots) failure_ = check_unread(posted_ - ShmColumn::kSlots + 1);
  if (!failure_.ok()) return false;
  Waiting& w = waiting_[next_to_post_];
  const ShmExchange::Contribution contribution{w.fingerprint, to_post(w.call, part_of(w, w.posted)), w.counts_hash,
                                               w.offered};
  const bool timed = w.may_be_offered && !w.offered;
  const TimePoint begin = timed ? now() : TimePoint();
  exchange_.post(posted_, contribution);
  if (timed) offering_.posted(contribution.data.size(), now() - begin);
  if (has_root(w.call.problem.operation)) unread_.push_back({posted_, w.fingerprint});
  ++posted_;
  if (++w.posted == w.pieces) ++next_to_post_;
  return true;
}

bool ShmQueue::complete_oldest(Callbacks& callbacks) {
  Waiting& oldest = waiting_.front();
  const bool took = oldest.done < oldest.posted && take_piece(oldest);
  if (oldest.done < oldest.pieces || (oldest.offered && !exchange_.read_by_all(first_ - 1))) return took;
  for (auto& callback : oldest.work->finish({})) callbacks.push_back(std::move(callback));
  waiting_.pop_front();
  --next_to_post_;
  ++over_;
  return true;
}

bool ShmQueue::take_piece(Waiting& oldest) {
  const Problem& problem = oldest.call.problem;
  const Part part = part_of(oldest, oldest.done);
  bool all = true;
  for (int r = 0; r < exchange_.ranks(); ++r) {
    const bool needed = needs(problem, r);
    inputs_[std::size_t(r)] = nullptr;
    all = all && needed;
    if (!needed) continue;
    if (!exchange_.is_there(r, first_)) {
      missing_.store(missing_of(r, first_), std::memory_order_relaxed);
      return false;
    }
    const ShmExchange::Contribution contribution = exchange_.posted(r, first_);
    if (failure_ = check(r, contribution, oldest); !failure_.ok()) return false;
    inputs_[std::size_t(r)] = contribution.data.data();
    offered_[std::size_t(r)] = contribution.offered;
  }
  if (!fetch_offers(oldest, part)) return false;
  if (all) failure_ = check_unread(first_);  // every rank is past the operations before first_
  if (!failure_.ok()) return false;
  complete_piece(oldest, part);
  exchange_.done_with(first_);
  exchange_.prepare(posted_);
  ++first_;
  ++oldest.done;
  missing_.store(0, std::memory_order_relaxed);
  return true;
}

// Times the copies if the contributions might have been offered. Our own copy counts as if the data were another
// rank's.
void ShmQueue::complete_piece(const Waiting& oldest, const Part& part) {
  const bool timed = oldest.may_be_offered;
  const TimePoint begin = timed ? now() : TimePoint();
  complete(oldest.call, part, inputs_);
  if (!timed) return;
  std::size_t bytes = 0;
  int from = -1;
  for (int r = 0; r < exchange_.ranks(); ++r) {
    if (inputs_[std::size_t(r)] == nullptr || (r == exchange_.rank() && oldest.call.problem.in_place)) continue;
    bytes += due_bytes(oldest.call.problem, r, part);
    if (r != exchange_.rank()) from = r;
  }
  if (from >= 0) offering_.copied(from, bytes, now() - begin);
}

// Reads offered contributions of the oldest piece to their places. False: an offer was withdrawn, or the reading
// failed.
bool ShmQueue::fetch_offers(const Waiting& oldest, const Part& part) {
  for (int r = 0; r < exchange_.ranks(); ++r) {
    const std::byte*& input = inputs_[std::size_t(r)];
    if (r == exchange_.rank() || input == nullptr || !offered_[std::size_t(r)]) continue;
    std::byte* const place = place_of(oldest.call, part, r);
    if (!neighbours_ || place == nullptr)
      return failure_ = another(r, "a contribution offered in place where a copy was due"), false;
    const std::size_t bytes = due_bytes(oldest.call.problem, r, part);
    const TimePoint begin = now();
    const Status read = neighbours_->read(r, input, {place, bytes});
    if (!exchange_.stands(r, first_)) return false;
    if (failure_ = read; !read.ok()) return false;
    offering_.read(bytes, now() - begin);
    input = nullptr;
  }
  return true;
}

// Compares the headers of operations below `end`, at the latest before our slot is written again. A rank that has
// overwritten its own header has compared ours.
Status ShmQueue::check_unread(std::uint64_t end) {
  while (!unread_.empty() && unread_.front().number < end) {
    const Unread ours = unread_.front();
    unread_.erase(unread_.begin());
    for (int r = 0; r < exchange_.ranks(); ++r) {
      const Fingerprint theirs = exchange_.header(r, ours.number);
      if (theirs != 0 && theirs != ours.fingerprint) return another(r, difference(theirs, ours.fingerprint));
    }
  }
  return {};
}

Status ShmQueue::another(int rank, const std::string& how) const {
  return Status(Code::truncated, Scope::session, mismatch(rank, exchange_.rank(), how));
}

Status ShmQueue::check(int rank, const ShmExchange::Contribution& contribution, const Waiting& ours) const {
  if (contribution.fingerprint != ours.fingerprint)
    return another(rank, difference(contribution.fingerprint, ours.fingerprint));
  const std::size_t due = due_bytes(ours.call.problem, rank, part_of(ours, ours.done));
  if (contribution.data.size() == due && contribution.counts_hash == ours.counts_hash) return {};
  RW_TRY(check_issued(rank, ours));  // pieces show less than the whole call
  if (contribution.data.size() == due) return another(rank, kOtherCounts);
  return another(rank, fmt::format("a contribution of {} bytes where {} were due", contribution.data.size(), due));
}

// Compares the rank's announcement of the call with ours, if it is still kept.
Status ShmQueue::check_issued(int rank, const Waiting& ours) const {
  const ShmExchange::Issued theirs = exchange_.issued(rank, ours.fingerprint);
  if (theirs.fingerprint == 0) return {};
  if (theirs.fingerprint != ours.fingerprint) return another(rank, difference(theirs.fingerprint, ours.fingerprint));
  const std::size_t due = due_bytes(ours.call.problem, rank);
  if (theirs.bytes != ShmExchange::announced_bytes(due))
    return another(rank, fmt::format("a contribution of {} bytes where {} were due", theirs.bytes, due));
  return theirs.counts_hash == ours.counts_hash && theirs.on_exchange ? Status() : another(rank, kOtherCounts);
}

// --------------------------------------------------------------------------------------------- when nothing moves

std::vector<int> ShmQueue::awaited_by_oldest() const {
  std::vector<int> ranks;
  if (waiting_.empty()) return ranks;
  const Waiting& oldest = waiting_.front();
  if (oldest.done == oldest.pieces) return exchange_.readers_of(first_ - 1);
  if (first_ == posted_) return exchange_.readers_of_slot(first_);
  for (int r = 0; r < exchange_.ranks(); ++r)
    if (needs(oldest.call.problem, r) && !exchange_.is_there(r, first_)) ranks.push_back(r);
  return ranks;
}

std::vector<int> ShmQueue::awaited() const {
  const MutexLock lock(mutex_);
  return awaited_by_oldest();
}

void ShmQueue::list_unfinished(std::vector<UnfinishedCall>& into) const {
  const MutexLock lock(mutex_);
  for (const Waiting& w : waiting_) {
    const bool oldest = &w == &waiting_.front();
    into.push_back({.work = w.work.get(),
                    .call = described(w.fingerprint),
                    .counts = counts_of(fingerprint_with_counts(w.call, 0)),
                    .started = w.posted > 0,
                    .awaited = oldest ? awaited_by_oldest() : std::vector<int>()});
  }
}

Status ShmQueue::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

Status ShmQueue::check_awaited() {
  const MutexLock lock(mutex_);
  if (!failure_.ok() || waiting_.empty()) return failure_;
  for (const int r : awaited_by_oldest())
    if (failure_ = check_issued(r, waiting_.front()); !failure_.ok()) break;
  return failure_;
}

Status ShmQueue::check_streamed(Fingerprint ours) const {
  const MutexLock lock(mutex_);
  for (int r = 0; r < exchange_.ranks(); ++r) {
    const ShmExchange::Issued theirs = exchange_.issued(r, ours);
    if (!theirs.on_exchange) continue;
    if (differ_in_more_than_counts(theirs.fingerprint, ours)) return another(r, difference(theirs.fingerprint, ours));
    return another(
        r, fmt::format("a contribution of {} bytes to the shm exchange, not messages of a larger one", theirs.bytes));
  }
  return {};
}

std::vector<std::shared_ptr<OperationWork>> ShmQueue::close() {
  std::vector<std::shared_ptr<OperationWork>> left;
  const MutexLock lock(mutex_);
  closed_ = true;
  exchange_.withdraw_offers();
  for (Waiting& w : waiting_) left.push_back(std::move(w.work));
  waiting_.clear();
  posted_ = first_;
  next_to_post_ = 0;
  return left;
}

}  // namespace railweave::collectives
