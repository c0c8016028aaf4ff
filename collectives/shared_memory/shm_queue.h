// Runs a group's operations on its exchange (ShmExchange), from issue to completion.
//
// Threads: any. The queue has a mutex of its own; only an OperationWork's mutex is taken inside it.
// Memory: an operation's input and output are accessed until the operation is over or close() has returned.
// Errors: the first error sticks in failure() and stops all progress. The group, not the queue, then ends the
// operations.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "collectives/group/call.h"
#include "collectives/group/fingerprint.h"
#include "collectives/shared_memory/contribution.h"
#include "collectives/shared_memory/neighbours.h"
#include "collectives/shared_memory/offering.h"
#include "collectives/shared_memory/shm_exchange.h"
#include "railweave/units.h"

namespace railweave::collectives {

class OperationWork;

class ShmQueue {
 public:
  using Callbacks = std::vector<std::function<void()>>;

  // `named`: RAILWEAVE_ALGO, the same on every rank. An operation for which it names an algorithm does not use the
  // exchange. `in_pieces`, the same on every rank: large operations may be done here in pieces. `neighbours`: set on
  // all ranks or on none; if set, contributions may be offered.
  ShmQueue(ShmExchange exchange, const std::string& named, bool in_pieces, std::optional<Neighbours> neighbours);

  // Returns true if the exchange does this call; every rank computes the same answer. Any thread. REQUIRES: check(call)
  // passed.
  bool takes(const Call& call) const;
  // Sets the number of the group's next call. REQUIRES: called before publish_issued() and add(), which number the
  // calls in the order in which they come.
  void count_from(std::uint64_t number);
  // Announces a call that the group runs over streams, so that other ranks can look it up. Returns the call's number.
  std::uint64_t publish_issued(const Call& call);
  // Queues a call for the exchange, numbers it, and moves from `call`. Returns false if closed; then nothing has
  // changed. REQUIRES: takes(call).
  bool add(const std::shared_ptr<OperationWork>& work, Call& call);
  // Posts and completes a few pieces at most, as far as the other ranks have got. Returns true if something moved;
  // false also if another thread holds the mutex. The caller runs what was appended to `callbacks` without any lock.
  bool advance(Callbacks& callbacks);
  // Polls advance() for some microseconds, or for a few moves that take longer. Returns at the deadline, when `work` is
  // over, or when `callbacks` has an entry.
  void attend(const OperationWork& work, TimePoint deadline, Callbacks& callbacks);
  bool busy() const;
  // Completed pieces plus completed operations so far; a change shows progress.
  std::uint64_t ended() const;

  // Ranks for which the oldest unfinished operation waits.
  std::vector<int> awaited() const;
  // Appends the unfinished operations, oldest first. Only the oldest one names the ranks that it waits for.
  void list_unfinished(std::vector<UnfinishedCall>& into) const;
  // Returns the first error, or ok.
  Status failure() const;
  // Slower checks, for when nothing moves. check_awaited() fails if a rank for which the oldest operation waits has
  // issued another call; the error sticks. check_streamed() fails if a rank does a call on the exchange that this rank
  // does over streams, with fingerprint `ours`.
  Status check_awaited();
  Status check_streamed(Fingerprint ours) const;
  // Closes the queue: add() returns false from now on, and offers are withdrawn. Returns the works that were not over.
  std::vector<std::shared_ptr<OperationWork>> close();

 private:
  struct Waiting {
    std::shared_ptr<OperationWork> work;
    Call call;
    Fingerprint fingerprint = 0;
    std::uint32_t counts_hash = 0;
    std::size_t pieces = 1, posted = 0, done = 0;  // exchange operations: in all, posted, done
    bool may_be_offered = false;                   // the same on every rank
    bool offered = false;                          // our contributions are offered: over when all ranks have read them
  };

  // An operation with a root, until its headers are compared: not every rank needs every header.
  struct Unread {
    std::uint64_t number = 0;
    Fingerprint fingerprint = 0;
  };

  static Part part_of(const Waiting& waiting, std::size_t index);
  bool post_next() RW_REQUIRES(mutex_);
  bool complete_oldest(Callbacks& callbacks) RW_REQUIRES(mutex_);
  bool take_piece(Waiting& oldest) RW_REQUIRES(mutex_);
  void complete_piece(const Waiting& oldest, const Part& part) RW_REQUIRES(mutex_);
  bool fetch_offers(const Waiting& oldest, const Part& part) RW_REQUIRES(mutex_);
  Status check_unread(std::uint64_t end) RW_REQUIRES(mutex_);
  Status another(int rank, const std::string& how) const RW_REQUIRES(mutex_);
  Status check(int rank, const ShmExchange::Contribution& contribution, const Waiting& ours) const RW_REQUIRES(mutex_);
  Status check_issued(int rank, const Waiting& ours) const RW_REQUIRES(mutex_);
  std::vector<int> awaited_by_oldest() const RW_REQUIRES(mutex_);
  // Skips the mutex: ShmExchange::is_there() may be called by any thread.
  bool is_there(int rank, std::uint64_t number) const RW_NO_THREAD_SAFETY_ANALYSIS {
    return exchange_.is_there(rank, number);
  }

  std::array<bool, kOperations> named_{};  // by Operation: the user named an algorithm; constant
  const bool in_pieces_;
  const std::optional<Neighbours> neighbours_;
  mutable Mutex mutex_;
  ShmExchange exchange_ RW_GUARDED_BY(mutex_);
  Offering offering_ RW_GUARDED_BY(mutex_){exchange_};
  // Oldest first. The oldest unfinished piece of waiting_.front() is exchange operation `first_`.
  std::deque<Waiting> waiting_ RW_GUARDED_BY(mutex_);
  std::uint64_t first_ RW_GUARDED_BY(mutex_) = 0;
  std::uint64_t posted_ RW_GUARDED_BY(mutex_) = 0;      // exchange operation to post next
  std::size_t next_to_post_ RW_GUARDED_BY(mutex_) = 0;  // index in waiting_ of its call
  std::uint64_t next_ RW_GUARDED_BY(mutex_) = 0;        // number of the group's next call
  std::deque<Unread> unread_ RW_GUARDED_BY(mutex_);     // oldest first
  // Scratch of take_piece(), by rank: posted data (null: not needed, or already in place), and whether it was offered.
  // Kept to save an allocation for each piece.
  std::vector<const std::byte*> inputs_ RW_GUARDED_BY(mutex_);
  std::vector<bool> offered_ RW_GUARDED_BY(mutex_);
  std::uint64_t over_ RW_GUARDED_BY(mutex_) = 0;  // completed operations
  // Rank and exchange operation for which the oldest piece waits (missing_of()); lets attend() poll without the lock.
  // 0: not known.
  std::atomic<std::uint64_t> missing_{0};
  Status failure_ RW_GUARDED_BY(mutex_);
  bool closed_ RW_GUARDED_BY(mutex_) = false;
};

}  // namespace railweave::collectives
