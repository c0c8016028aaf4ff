#include "collectives/board/line.h"

#include <fmt/core.h>
#include <sched.h>

#include <utility>

#include "base/clock.h"
#include "collectives/board/small_operation.h"
#include "collectives/schedule/algorithm_choice.h"
#include "collectives/ticket.h"

namespace railweave::collectives {
namespace {

constexpr int kLooks = 400;               // of attend(): tens of microseconds where nobody else wants the core
constexpr int kLooksAtOnce = 25;          // of these, without giving the core away
constexpr int kLooksBetweenClocks = 16;

// BoardLine::missing_: rank + 1 in the lowest byte, the operation above.
static_assert(kBoardRanksMax < 256);
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

constexpr const char* kOtherCounts = "its counts are others than ours";

Status another(int rank, const std::string& how) {
  return Status(Code::truncated, Scope::session, fmt::format("rank {} does not do the same operation: {}", rank, how));
}

}  // namespace

BoardLine::BoardLine(Board board, const std::string& named) : board_(std::move(board)), inputs_(std::size_t(board_.ranks())) {
  for (int o = 0; o < kOperations; ++o) named_[std::size_t(o)] = !chosen_name(named, Operation(o)).empty();
}

bool BoardLine::takes(const Call& call) const {
  return call.hints.priority == Class::normal && !named_[std::size_t(call.problem.operation)] && fits_board(call);
}

std::uint64_t BoardLine::tell_issued(const Call& call) {
  const std::lock_guard lock(mutex_);
  board_.tell_issued({fingerprint(call, next_), due_bytes(call.problem, board_.rank()), counts_hash(call.problem), false});
  return next_++;
}

bool BoardLine::add(const std::shared_ptr<Ticket>& ticket, Call& call) {
  const std::uint32_t hash = counts_hash(call.problem);
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  const Fingerprint print = fingerprint(call, next_++);
  board_.tell_issued({print, due_bytes(call.problem, board_.rank()), hash, true});
  waiting_.push_back({ticket, std::move(call), print, hash});
  (void)post_what_has_room();
  return true;
}

std::uint64_t BoardLine::ended() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

bool BoardLine::busy() const {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

bool BoardLine::advance(Callbacks& callbacks) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || waiting_.empty() || !failure_.ok()) return false;
  bool moved = post_what_has_room();
  while (failure_.ok() && first_ < posted_ && complete_oldest(callbacks)) {
    moved = true;
    (void)post_what_has_room();
  }
  return moved;
}

void BoardLine::attend(const Ticket& ticket, TimePoint deadline, Callbacks& callbacks) {
  for (int looks = 0; looks < kLooks; ++looks) {
    const std::uint64_t missing = missing_.load(std::memory_order_relaxed);
    if (missing == 0 || board_.is_there(rank_of(missing), operation_of(missing))) (void)advance(callbacks);
    if (ticket.over() || !callbacks.empty()) return;
    if (looks % kLooksBetweenClocks == kLooksBetweenClocks - 1 && now() >= deadline) return;
    looks < kLooksAtOnce ? pause_briefly() : void(::sched_yield());
  }
}

bool BoardLine::post_what_has_room() {
  bool posted = false;
  while (posted_ < first_ + waiting_.size() && failure_.ok() && board_.has_room(posted_)) {
    if (posted_ >= BoardColumn::kSlots) failure_ = check_unread(posted_ - BoardColumn::kSlots + 1);
    if (!failure_.ok()) break;
    const Waiting& w = waiting_[std::size_t(posted_ - first_)];
    board_.post(posted_, {w.fingerprint, to_post(w.call), w.counts_hash});
    if (has_root(w.call.problem.operation)) unread_.push_back({posted_, w.fingerprint});
    ++posted_;
    posted = true;
  }
  return posted;
}

bool BoardLine::complete_oldest(Callbacks& callbacks) {
  Waiting& oldest = waiting_.front();
  const Problem& problem = oldest.call.problem;
  bool all = true;
  for (int r = 0; r < board_.ranks(); ++r) {
    const bool needed = needs(problem, r);
    inputs_[std::size_t(r)] = nullptr;
    all = all && needed;
    if (!needed) continue;
    if (!board_.is_there(r, first_)) {
      missing_.store(missing_of(r, first_), std::memory_order_relaxed);
      return false;
    }
    const Board::Posting posting = board_.posted(r, first_);
    if (failure_ = check(r, posting, oldest); !failure_.ok()) return false;
    inputs_[std::size_t(r)] = posting.data.data();
  }
  if (all) failure_ = check_unread(first_);  // they are as far, too
  if (!failure_.ok()) return false;
  complete(oldest.call, inputs_);
  board_.done_with(first_);
  board_.prepare(posted_);
  for (auto& callback : oldest.ticket->finish({})) callbacks.push_back(std::move(callback));
  waiting_.pop_front();
  ++first_;
  missing_.store(0, std::memory_order_relaxed);
  return true;
}

// Of operations below `end`: at the latest before our slot is written again. Whoever has overwritten theirs looked at ours.
Status BoardLine::check_unread(std::uint64_t end) {
  while (!unread_.empty() && unread_.front().number < end) {
    const Unread ours = unread_.front();
    unread_.erase(unread_.begin());
    for (int r = 0; r < board_.ranks(); ++r) {
      const Fingerprint theirs = board_.header(r, ours.number);
      if (theirs != 0 && theirs != ours.fingerprint) return another(r, difference(theirs, ours.fingerprint));
    }
  }
  return {};
}

Status BoardLine::check(int rank, const Board::Posting& posting, const Waiting& ours) const {
  if (posting.fingerprint != ours.fingerprint) return another(rank, difference(posting.fingerprint, ours.fingerprint));
  const std::size_t due = due_bytes(ours.call.problem, rank);
  if (posting.data.size() != due) return another(rank, fmt::format("a posting of {} bytes where {} were due", posting.data.size(), due));
  return posting.counts_hash == ours.counts_hash ? Status() : another(rank, kOtherCounts);
}

// --------------------------------------------------------------------------------------------- when nothing moves

std::vector<int> BoardLine::awaited_by_oldest() const {
  std::vector<int> ranks;
  if (waiting_.empty()) return ranks;
  if (first_ == posted_) return board_.readers_of_slot(first_);
  for (int r = 0; r < board_.ranks(); ++r)
    if (needs(waiting_.front().call.problem, r) && !board_.is_there(r, first_)) ranks.push_back(r);
  return ranks;
}

std::vector<int> BoardLine::awaited() const {
  const std::lock_guard lock(mutex_);
  return awaited_by_oldest();
}

Status BoardLine::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status BoardLine::look_at_awaited() {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok() || waiting_.empty()) return failure_;
  const Waiting& oldest = waiting_.front();
  for (const int r : awaited_by_oldest()) {
    const Board::Issued theirs = board_.issued(r, oldest.fingerprint);
    if (theirs.fingerprint == 0) continue;
    const std::size_t due = due_bytes(oldest.call.problem, r);
    if (theirs.fingerprint != oldest.fingerprint)
      failure_ = another(r, difference(theirs.fingerprint, oldest.fingerprint));
    else if (theirs.bytes != due)
      failure_ = another(r, fmt::format("one of {} bytes where {} were due", theirs.bytes, due));
    else if (theirs.counts_hash != oldest.counts_hash || !theirs.on_board)
      failure_ = another(r, kOtherCounts);
  }
  return failure_;
}

Status BoardLine::look_at_streamed(Fingerprint ours) const {
  const std::lock_guard lock(mutex_);
  for (int r = 0; r < board_.ranks(); ++r) {
    const Board::Issued theirs = board_.issued(r, ours);
    if (!theirs.on_board) continue;
    if (theirs.fingerprint != ours) return another(r, difference(theirs.fingerprint, ours));
    return another(r, fmt::format("there it is small, a posting of {} bytes; here it is not", theirs.bytes));
  }
  return {};
}

std::vector<std::shared_ptr<Ticket>> BoardLine::close() {
  std::vector<std::shared_ptr<Ticket>> left;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Waiting& w : waiting_) left.push_back(std::move(w.ticket));
  waiting_.clear();
  posted_ = first_;
  return left;
}

}  // namespace railweave::collectives
