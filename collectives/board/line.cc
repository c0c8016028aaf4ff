#include "collectives/board/line.h"

#include <fmt/core.h>
#include <sched.h>

#include <utility>

#include "collectives/board/small_operation.h"
#include "collectives/schedule/algorithm_choice.h"
#include "collectives/ticket.h"

namespace railweave::collectives {
namespace {

constexpr int kLooks = 400;               // of attend(): tens of microseconds where nobody else wants the core
constexpr int kLooksAtOnce = 100;         // of these, without giving the core away

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm("yield");
#endif
}

Status another(int rank, const std::string& how) {
  return Status(Code::truncated, Scope::session, fmt::format("rank {} does not do the same operation: {}", rank, how));
}

}  // namespace

BoardLine::BoardLine(Board board, std::string named)
    : named_(std::move(named)), board_(std::move(board)), inputs_(std::size_t(board_.ranks())) {}

bool BoardLine::takes(const Call& call) const {
  return fits_board(call) && chosen_name(named_, call.problem.operation).empty();
}

std::uint64_t BoardLine::tell_issued(const Call& call) {
  const std::lock_guard lock(mutex_);
  board_.tell_issued(next_, fingerprint(call, next_), due_bytes(call.problem, board_.rank()));
  return next_++;
}

bool BoardLine::add(const std::shared_ptr<Ticket>& ticket, Call& call) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  const std::uint64_t number = next_++;
  const Fingerprint print = fingerprint(call, number);
  board_.tell_issued(number, print, due_bytes(call.problem, board_.rank()));
  waiting_.push_back({ticket, std::move(call), print, number});
  (void)post_what_has_room();
  return true;
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

void BoardLine::look() {
  Callbacks callbacks;
  (void)advance(callbacks);
  for (auto& callback : callbacks) callback();
}

void BoardLine::attend(const Ticket& ticket) {
  for (int looks = 0; looks < kLooks; ++looks) {
    const std::uint64_t missing = missing_.load(std::memory_order_relaxed);
    if (missing == 0 || board_.is_there(int(missing & 0xff) - 1, missing >> 8)) look();
    if (ticket.over()) return;
    looks < kLooksAtOnce ? pause_briefly() : void(::sched_yield());
  }
}

bool BoardLine::post_what_has_room() {
  bool posted = false;
  while (posted_ < first_ + waiting_.size() && failure_.ok() && board_.has_room(posted_)) {
    if (posted_ >= BoardColumn::kSlots) failure_ = check_unread(posted_ - BoardColumn::kSlots + 1);
    if (!failure_.ok()) break;
    const Waiting& w = waiting_[std::size_t(posted_ - first_)];
    board_.post(posted_, {w.fingerprint, to_post(w.call)});
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
      missing_.store(first_ << 8 | std::uint64_t(r + 1), std::memory_order_relaxed);
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
  if (posting.data.size() == due) return {};
  return another(rank, fmt::format("a posting of {} bytes where {} were due", posting.data.size(), due));
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
    const Board::Issued theirs = board_.issued(r, oldest.issue);
    if (theirs.fingerprint == 0) continue;
    if (!is_same_number(theirs.fingerprint, oldest.fingerprint)) continue;
    const std::size_t due = due_bytes(oldest.call.problem, r);
    if (theirs.fingerprint != oldest.fingerprint)
      failure_ = another(r, difference(theirs.fingerprint, oldest.fingerprint));
    else if (theirs.bytes != due)
      failure_ = another(r, fmt::format("one of {} bytes where {} were due", theirs.bytes, due));
  }
  return failure_;
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
