// A group's operations on its board, from their issue to their end.
//
// Threads: any; a mutex of its own, inside which only a Ticket's is taken. Memory: a caller's input and output are touched
// until its operation is over or close() is back. Errors: the first sticks in failure() and ends nothing by itself: the group does.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectives/board/board.h"
#include "collectives/call.h"
#include "collectives/fingerprint.h"
#include "railweave/units.h"

namespace railweave::collectives {

class Ticket;

class BoardLine {
 public:
  using Callbacks = std::vector<std::function<void()>>;

  // `named`: RAILWEAVE_ALGO, the same on every rank. What it names an algorithm for is not done on the board.
  BoardLine(Board board, const std::string& named);

  // Whether such a call is done here, as every rank finds alike; any thread. REQUIRES: checked.
  bool takes(const Call& call) const;
  // The group's next call has this number. Before any of the two below, which number calls in the order they come.
  void count_from(std::uint64_t number) { next_ = number; }
  // The group issues a call that is not done here: the others may look it up. Its number.
  std::uint64_t tell_issued(const Call& call);
  // It issues one that is. REQUIRES: takes(call). False, and nothing done: closed.
  bool add(const std::shared_ptr<Ticket>& ticket, Call& call);
  // Goes on as far as the others let it. True: something moved; false also where another thread is at it. What it appends to
  // `callbacks` is to be called without any lock.
  bool advance(Callbacks& callbacks);
  // advance() for some microseconds, or until the ticket is over, the deadline, or there is something to call.
  void attend(const Ticket& ticket, TimePoint deadline, Callbacks& callbacks);
  bool busy() const;
  // How many operations ended so far.
  std::uint64_t ended() const;

  // Ranks that our operations wait for.
  std::vector<int> awaited() const;
  // ok, or what is wrong with what was posted.
  Status failure() const;
  // Longer looks, for when nothing moves: whether a rank that the oldest waits for has issued something else, and whether one
  // does on the board what we do over streams, a call of this fingerprint.
  Status look_at_awaited();
  Status look_at_streamed(Fingerprint ours) const;
  // Takes nothing from now on; what was not over.
  std::vector<std::shared_ptr<Ticket>> close();

 private:
  struct Waiting {
    std::shared_ptr<Ticket> ticket;
    Call call;
    Fingerprint fingerprint = 0;
    std::uint32_t counts_hash = 0;
  };

  // Of an operation with a root: not all needed all headers.
  struct Unread {
    std::uint64_t number = 0;
    Fingerprint fingerprint = 0;
  };

  // --- under mutex_
  bool post_what_has_room();
  bool complete_oldest(Callbacks& callbacks);
  Status check_unread(std::uint64_t end);
  Status check(int rank, const Board::Posting& posting, const Waiting& ours) const;
  std::vector<int> awaited_by_oldest() const;

  std::array<bool, kOperations> named_{};     // operations with an algorithm of the user's choice; constant
  mutable std::mutex mutex_;
  Board board_;                               // guarded by mutex_, as is all below
  std::deque<Waiting> waiting_;               // the oldest is operation `first_` of the board
  std::uint64_t first_ = 0, posted_ = 0;      // posted_: the next to be posted
  std::uint64_t next_ = 0;                    // number of the group's next call
  std::deque<Unread> unread_;                 // the oldest first
  std::vector<const std::byte*> inputs_;      // complete_oldest(): kept, so that it is not allocated each time
  // Whom the oldest waits for, so that attend() need not lock to find that he has not come. 0: not known.
  std::atomic<std::uint64_t> missing_{0};
  Status failure_;
  bool closed_ = false;
};

}  // namespace railweave::collectives
