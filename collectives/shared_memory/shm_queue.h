// A group's operations on its exchange, from their issue to their end.
//
// Threads: any; a mutex of its own, inside which only a OperationWork's is taken. Memory: a caller's input and output
// are touched until its operation is over or close() is back. Errors: the first sticks in failure() and ends nothing by
// itself: the group does.
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

  // `named`: RAILWEAVE_ALGO, the same on every rank. What it names an algorithm for is not done on the exchange.
  // `in_pieces`, the same on every rank: large operations may be done here in pieces. `neighbours`, none or all ranks:
  // their data may be offered.
  ShmQueue(ShmExchange exchange, const std::string& named, bool in_pieces, std::optional<Neighbours> neighbours);

  // Whether such a call is done here, as every rank finds alike; any thread. REQUIRES: checked.
  bool takes(const Call& call) const;
  // The group's next call has this number. Before any of the two below, which number calls in the order they come.
  void count_from(std::uint64_t number);
  // The group issues a call that is not done here: the others may look it up. Its number.
  std::uint64_t publish_issued(const Call& call);
  // It issues one that is. REQUIRES: takes(call). False, and nothing done: closed.
  bool add(const std::shared_ptr<OperationWork>& work, Call& call);
  // Goes on as far as the others let it, by a few pieces at most. True: something moved; false also where another
  // thread is at it. What it appends to `callbacks` is to be called without any lock.
  bool advance(Callbacks& callbacks);
  // advance() for some microseconds, or a few times that moved something and took longer, or until the work is over,
  // the deadline, or there is something to call.
  void attend(const OperationWork& work, TimePoint deadline, Callbacks& callbacks);
  bool busy() const;
  // How many operations and pieces ended so far.
  std::uint64_t ended() const;

  // Ranks that our operations wait for.
  std::vector<int> awaited() const;
  // ok, or what is wrong with what was posted.
  Status failure() const;
  // Longer looks, for when nothing moves: whether a rank that the oldest waits for has issued something else, and
  // whether one does on the exchange what we do over streams, a call of this fingerprint.
  Status check_awaited();
  Status check_streamed(Fingerprint ours) const;
  // Takes nothing from now on; what was not over.
  std::vector<std::shared_ptr<OperationWork>> close();

 private:
  struct Waiting {
    std::shared_ptr<OperationWork> work;
    Call call;
    Fingerprint fingerprint = 0;
    std::uint32_t counts_hash = 0;
    std::size_t pieces = 1, posted = 0, done = 0;  // each is an operation of the exchange
    bool may_be_offered = false;                   // as every rank finds alike
    bool offered = false;                          // our contributions are: it is over when all have read them
  };

  // An operation with a root, until its headers are compared: not every rank needed every header.
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
  // ShmExchange lets any thread ask this, without the mutex.
  bool is_there(int rank, std::uint64_t number) const RW_NO_THREAD_SAFETY_ANALYSIS {
    return exchange_.is_there(rank, number);
  }

  std::array<bool, kOperations> named_{};  // operations with an algorithm of the user's choice; constant
  const bool in_pieces_;
  const std::optional<Neighbours> neighbours_;
  mutable Mutex mutex_;
  ShmExchange exchange_ RW_GUARDED_BY(mutex_);
  Offering offering_ RW_GUARDED_BY(mutex_){exchange_};
  // the oldest's oldest piece is operation `first_` of the exchange
  std::deque<Waiting> waiting_ RW_GUARDED_BY(mutex_);
  std::uint64_t first_ RW_GUARDED_BY(mutex_) = 0;
  std::uint64_t posted_ RW_GUARDED_BY(mutex_) = 0;      // the next to be posted
  std::size_t next_to_post_ RW_GUARDED_BY(mutex_) = 0;  // of which of waiting_
  std::uint64_t next_ RW_GUARDED_BY(mutex_) = 0;        // number of the group's next call
  std::deque<Unread> unread_ RW_GUARDED_BY(mutex_);     // the oldest first
  // take_piece(): by rank, what was posted (null: not needed, or in its place) and whether it was offered; kept, so
  // that it is not allocated each time.
  std::vector<const std::byte*> inputs_ RW_GUARDED_BY(mutex_);
  std::vector<bool> offered_ RW_GUARDED_BY(mutex_);
  std::uint64_t over_ RW_GUARDED_BY(mutex_) = 0;  // operations
  // Whom the oldest waits for, so that attend() need not lock to find that he has not come. 0: not known.
  std::atomic<std::uint64_t> missing_{0};
  Status failure_ RW_GUARDED_BY(mutex_);
  bool closed_ RW_GUARDED_BY(mutex_) = false;
};

}  // namespace railweave::collectives
