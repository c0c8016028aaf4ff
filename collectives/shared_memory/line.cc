#include "collectives/shared_memory/line.h"

#include <fmt/core.h>
#include <sched.h>

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "collectives/shared_memory/pieces.h"
#include "collectives/schedule/algorithm_choice.h"
#include "collectives/group/ticket.h"

namespace railweave::collectives {
namespace {

constexpr int kLooks = 400;               // of attend(): tens of microseconds where nobody else wants the core, and nothing moves
constexpr int kLooksAtOnce = 25;          // of these, without giving the core away
constexpr int kLooksBetweenClocks = 16;
constexpr int kLooksOfAMove = 100;        // what one that moved something counts for: others are to be driven, too
constexpr int kTurns = 4;                 // of advance(): a large operation must not keep who issues the next one

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

constexpr const char* kOtherCounts = "other counts";

}  // namespace

BoardLine::BoardLine(Board board, const std::string& named, bool in_pieces, std::optional<Neighbours> neighbours)
    : in_pieces_(in_pieces), neighbours_(std::move(neighbours)), board_(std::move(board)), inputs_(std::size_t(board_.ranks())),
      offered_(inputs_.size()) {
  for (int o = 0; o < kOperations; ++o) named_[std::size_t(o)] = !chosen_name(named, Operation(o)).empty();
}

bool BoardLine::takes(const Call& call) const {
  if (call.hints.priority != Class::normal || named_[std::size_t(call.problem.operation)]) return false;
  return fits_board(call) || (in_pieces_ && pieces(call) > 0);
}

void BoardLine::count_from(std::uint64_t number) {
  const MutexLock lock(mutex_);
  next_ = number;
}

std::uint64_t BoardLine::tell_issued(const Call& call) {
  const MutexLock lock(mutex_);
  board_.tell_issued({fingerprint(call, next_), due_bytes(call.problem, board_.rank()), counts_hash(call.problem), false});
  return next_++;
}

bool BoardLine::add(const std::shared_ptr<Ticket>& ticket, Call& call) {
  const std::uint32_t hash = counts_hash(call.problem);
  const MutexLock lock(mutex_);
  if (closed_) return false;
  const Fingerprint print = fingerprint(call, next_++);
  if (trace::on()) {
    ticket->issued(print, call.most_bytes(), call.hints.priority);
    ticket->live();
  }
  board_.tell_issued({print, due_bytes(call.problem, board_.rank()), hash, true});
  const std::size_t count = pieces(call);
  const bool may_be = neighbours_ && may_be_offered(call);
  const bool offered = may_be && offering_.wanted() && Neighbours::readable(to_post(call));
  waiting_.push_back({.ticket = ticket, .call = std::move(call), .fingerprint = print, .counts_hash = hash, .pieces = count,
                      .may_be_offered = may_be, .offered = offered});
  (void)post_next();
  return true;
}

std::uint64_t BoardLine::ended() const {
  const MutexLock lock(mutex_);
  return first_ + over_;
}

bool BoardLine::busy() const {
  const MutexLock lock(mutex_);
  return !waiting_.empty();
}

bool BoardLine::advance(Callbacks& callbacks) {
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

void BoardLine::attend(const Ticket& ticket, TimePoint deadline, Callbacks& callbacks) {
  for (int looks = 0; looks < kLooks; ++looks) {
    const std::uint64_t missing = missing_.load(std::memory_order_relaxed);
    const bool looked = missing == 0 || is_there(rank_of(missing), operation_of(missing));
    const bool moved = looked && advance(callbacks);
    if (ticket.over() || !callbacks.empty()) return;
    if ((moved || looks % kLooksBetweenClocks == 0) && now() >= deadline) return;
    if (moved) {
      looks += kLooksOfAMove - 1;
    } else {
      looks < kLooksAtOnce ? pause_briefly() : void(::sched_yield());
    }
  }
}

Part BoardLine::part_of(const Waiting& w, std::size_t index) { return w.pieces == 1 ? Part() : piece(w.call, index); }

bool BoardLine::post_next() {
  if (posting_ == waiting_.size() || !board_.has_room(posted_)) return false;
  if (posted_ >= BoardColumn::kSlots) failure_ = check_unread(posted_ - BoardColumn::kSlots + 1);
  if (!failure_.ok()) return false;
  Waiting& w = waiting_[posting_];
  const Board::Posting posting{w.fingerprint, to_post(w.call, part_of(w, w.posted)), w.counts_hash, w.offered};
  const bool timed = w.may_be_offered && !w.offered;
  const TimePoint begin = timed ? now() : TimePoint();
  board_.post(posted_, posting);
  if (timed) offering_.posted(posting.data.size(), now() - begin);
  if (has_root(w.call.problem.operation)) unread_.push_back({posted_, w.fingerprint});
  ++posted_;
  if (++w.posted == w.pieces) ++posting_;
  return true;
}

bool BoardLine::complete_oldest(Callbacks& callbacks) {
  Waiting& oldest = waiting_.front();
  const bool took = oldest.done < oldest.posted && take_piece(oldest);
  if (oldest.done < oldest.pieces || (oldest.offered && !board_.read_by_all(first_ - 1))) return took;
  for (auto& callback : oldest.ticket->finish({})) callbacks.push_back(std::move(callback));
  waiting_.pop_front();
  --posting_;
  ++over_;
  return true;
}

bool BoardLine::take_piece(Waiting& oldest) {
  const Problem& problem = oldest.call.problem;
  const Part part = part_of(oldest, oldest.done);
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
    offered_[std::size_t(r)] = posting.offered;
  }
  if (!fetch_offers(oldest, part)) return false;
  if (all) failure_ = check_unread(first_);  // they are as far, too
  if (!failure_.ok()) return false;
  complete_piece(oldest, part);
  board_.done_with(first_);
  board_.prepare(posted_);
  ++first_;
  ++oldest.done;
  missing_.store(0, std::memory_order_relaxed);
  return true;
}

// Where its postings might have been offered, its copies are timed: our own, too, as if it were another's.
void BoardLine::complete_piece(const Waiting& oldest, const Part& part) {
  const bool timed = oldest.may_be_offered;
  const TimePoint begin = timed ? now() : TimePoint();
  complete(oldest.call, part, inputs_);
  if (!timed) return;
  std::size_t bytes = 0;
  int from = -1;
  for (int r = 0; r < board_.ranks(); ++r) {
    if (inputs_[std::size_t(r)] == nullptr || (r == board_.rank() && oldest.call.problem.in_place)) continue;
    bytes += due_bytes(oldest.call.problem, r, part);
    if (r != board_.rank()) from = r;
  }
  if (from >= 0) offering_.copied(from, bytes, now() - begin);
}

// Reads what the others offered of the oldest piece, to its place. False: it was withdrawn, or failed.
bool BoardLine::fetch_offers(const Waiting& oldest, const Part& part) {
  for (int r = 0; r < board_.ranks(); ++r) {
    const std::byte*& input = inputs_[std::size_t(r)];
    if (r == board_.rank() || input == nullptr || !offered_[std::size_t(r)]) continue;
    std::byte* const place = place_of(oldest.call, part, r);
    if (!neighbours_ || place == nullptr) return failure_ = another(r, "it offers its memory"), false;
    const std::size_t bytes = due_bytes(oldest.call.problem, r, part);
    const TimePoint begin = now();
    const Status read = neighbours_->read(r, input, {place, bytes});
    if (!board_.stands(r, first_)) return false;
    if (failure_ = read; !read.ok()) return false;
    offering_.read(bytes, now() - begin);
    input = nullptr;
  }
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

Status BoardLine::another(int rank, const std::string& how) const {
  return Status(Code::truncated, Scope::session, mismatch(rank, board_.rank(), how));
}

Status BoardLine::check(int rank, const Board::Posting& posting, const Waiting& ours) const {
  if (posting.fingerprint != ours.fingerprint) return another(rank, difference(posting.fingerprint, ours.fingerprint));
  const std::size_t due = due_bytes(ours.call.problem, rank, part_of(ours, ours.done));
  if (posting.data.size() == due && posting.counts_hash == ours.counts_hash) return {};
  RW_TRY(check_issued(rank, ours));  // pieces tell less than all
  if (posting.data.size() == due) return another(rank, kOtherCounts);
  return another(rank, fmt::format("a posting of {} bytes where {} were due", posting.data.size(), due));
}

// What the rank told of the call, where it is still to be found.
Status BoardLine::check_issued(int rank, const Waiting& ours) const {
  const Board::Issued theirs = board_.issued(rank, ours.fingerprint);
  if (theirs.fingerprint == 0) return {};
  if (theirs.fingerprint != ours.fingerprint) return another(rank, difference(theirs.fingerprint, ours.fingerprint));
  const std::size_t due = due_bytes(ours.call.problem, rank);
  if (theirs.bytes != Board::told(due)) return another(rank, fmt::format("one of {} bytes where {} were due", theirs.bytes, due));
  return theirs.counts_hash == ours.counts_hash && theirs.on_board ? Status() : another(rank, kOtherCounts);
}

// --------------------------------------------------------------------------------------------- when nothing moves

std::vector<int> BoardLine::awaited_by_oldest() const {
  std::vector<int> ranks;
  if (waiting_.empty()) return ranks;
  const Waiting& oldest = waiting_.front();
  if (oldest.done == oldest.pieces) return board_.readers_of(first_ - 1);
  if (first_ == posted_) return board_.readers_of_slot(first_);
  for (int r = 0; r < board_.ranks(); ++r)
    if (needs(oldest.call.problem, r) && !board_.is_there(r, first_)) ranks.push_back(r);
  return ranks;
}

std::vector<int> BoardLine::awaited() const {
  const MutexLock lock(mutex_);
  return awaited_by_oldest();
}

Status BoardLine::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

Status BoardLine::look_at_awaited() {
  const MutexLock lock(mutex_);
  if (!failure_.ok() || waiting_.empty()) return failure_;
  for (const int r : awaited_by_oldest())
    if (failure_ = check_issued(r, waiting_.front()); !failure_.ok()) break;
  return failure_;
}

Status BoardLine::look_at_streamed(Fingerprint ours) const {
  const MutexLock lock(mutex_);
  for (int r = 0; r < board_.ranks(); ++r) {
    const Board::Issued theirs = board_.issued(r, ours);
    if (!theirs.on_board) continue;
    if (differ_in_more_than_counts(theirs.fingerprint, ours)) return another(r, difference(theirs.fingerprint, ours));
    return another(r, fmt::format("a small one, a posting of {} bytes, not a large one", theirs.bytes));
  }
  return {};
}

std::vector<std::shared_ptr<Ticket>> BoardLine::close() {
  std::vector<std::shared_ptr<Ticket>> left;
  const MutexLock lock(mutex_);
  closed_ = true;
  board_.withdraw_offers();
  for (Waiting& w : waiting_) left.push_back(std::move(w.ticket));
  waiting_.clear();
  posted_ = first_;
  posting_ = 0;
  return left;
}

}  // namespace railweave::collectives
