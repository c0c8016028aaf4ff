// A Group: ranks that run collective operations together, and send each other messages.
//
// Ranks of one host use shared memory if the engines of all were started with Config::shm (RAILWEAVE_SHM). The default
// is off; the perf programs and the torch backend turn Config::shm on.
// Threads: a Group may be used from any thread. The order of calls must be the same on every rank, also of calls that
// several threads make at once. Calls return at once; operations match in issue order and finish in any order.
// Fork: a group is dead in a forked child, where its calls and Works return an error. The child may create groups on
// engines of its own.
// Memory: input and output belong to the operation until its Work is over. Equal addresses mean in place where the
// operation allows it (see schedule/problem.h); any other overlap is an error.
// Errors: a wrong argument ends its Work alone (invalid_argument). The other ranks then wait for an operation that does
// not come, as with every such library. Any other error ends the group; the first error sticks and names the lost rank.
// A rank that has finished and leaves is an error only for ranks that still need this rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/group/unfinished_call.h"
#include "collectives/kernels/types.h"
#include "collectives/rendezvous/store.h"
#include "railweave/endpoint.h"

namespace railweave::collectives {

// A caller's hints for an operation. The priority of an operation is the priority of its bytes in the sessions. For a
// message the sender's priority counts, and the receiver's hints are ignored. Messages of up to 8 KiB travel with the
// envelopes, which have priority normal. Messages, and operations on a shm exchange, are not held by the scheduler
// (docs/internals/scheduler.md): they begin at once.
struct Hints {
  Priority priority = Priority::normal;  // of an operation: the same on every rank, since it selects the channel
  // Distinguishes operations that look alike: the parts of an operation that the caller divided, or element types that
  // this library does not have. Must be the same on every rank; otherwise the operations are different ones.
  std::uint64_t part = 0;
};

// A handle of an operation. Dropping the Work does not end the operation.
class Work {
 public:
  virtual ~Work() = default;
  // Drives operations for one pass. True once the operation is over, in success or failure.
  virtual bool test() = 0;
  // Drives operations until this one is over. timed_out: the operation continues, and may be waited for again. Without
  // a timeout a rank that is stopped (SIGSTOP), but not dead, is waited for without limit.
  virtual Status wait(Nanos timeout = Nanos::max()) = 0;
  // Ends the operation and its group as cancelled: the other ranks cannot continue without this rank. Every waiter
  // returns. Any thread.
  virtual void abort() = 0;
  // Calls `callback` once, when the operation is over, on the thread that drove the operation; at once if the operation
  // is already over. `callback` must neither throw nor wait for operations.
  virtual void when_over(std::function<void(const Status&)> callback) = 0;
  // --- valid once over
  virtual Status status() const = 0;
  virtual int source() const = 0;         // recv: the sender's rank; else -1
  virtual std::size_t bytes() const = 0;  // recv: the message's size; else 0
};
using WorkPtr = std::shared_ptr<Work>;

inline constexpr int kAnySource = -1;

class Group {
 public:
  struct Options {
    std::string name;  // the same on every rank; a store has one group of a name at a time
    int rank = 0;
    int size = 1;
    Nanos timeout = std::chrono::seconds(60);  // how long to wait for the other ranks
    std::string traced_as{};                   // name in traces, the same on every rank; empty: `name`
  };
  // Creates a group; every rank must call this. Errors: timed_out (names the ranks that did not come), exhausted (a
  // rank came twice, or to a group of another size; names the rank), errors of the engine and the store.
  static Result<std::shared_ptr<Group>> create(std::shared_ptr<Engine> engine, std::shared_ptr<Store> store,
                                               const Options& options);
  // Ends unfinished operations as cancelled. If there are any, notifies the other ranks: waits for the store, two
  // seconds at most. Waits for no other rank.
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Counts are elements. Operation in schedule/problem.h says which rank needs which memory. Unused pointers may be
  // null. `factor`: for premul_sum only (Reducing::factor).
  virtual WorkPtr all_gather(const void* input, void* output, std::size_t count, DataType type, Hints hints = {}) = 0;
  virtual WorkPtr all_gather_v(const void* input, void* output, std::span<const std::size_t> counts, DataType type,
                               Hints hints = {}) = 0;
  virtual WorkPtr reduce_scatter(const void* input, void* output, std::size_t count, DataType type, Reduction reduction,
                                 Hints hints = {}, double factor = 1) = 0;
  virtual WorkPtr reduce_scatter_v(const void* input, void* output, std::span<const std::size_t> counts, DataType type,
                                   Reduction reduction, Hints hints = {}, double factor = 1) = 0;
  virtual WorkPtr all_reduce(const void* input, void* output, std::size_t count, DataType type, Reduction reduction,
                             Hints hints = {}, double factor = 1) = 0;
  virtual WorkPtr broadcast(const void* input, void* output, std::size_t count, DataType type, int root,
                            Hints hints = {}) = 0;
  virtual WorkPtr reduce(const void* input, void* output, std::size_t count, DataType type, Reduction reduction,
                         int root, Hints hints = {}, double factor = 1) = 0;
  virtual WorkPtr gather(const void* input, void* output, std::size_t count, DataType type, int root,
                         Hints hints = {}) = 0;
  virtual WorkPtr scatter(const void* input, void* output, std::size_t count, DataType type, int root,
                          Hints hints = {}) = 0;
  virtual WorkPtr all_to_all(const void* input, void* output, std::size_t count, DataType type, Hints hints = {}) = 0;
  virtual WorkPtr all_to_all_v(const void* input, void* output, std::span<const std::size_t> send_counts,
                               std::span<const std::size_t> receive_counts, DataType type, Hints hints = {}) = 0;
  virtual WorkPtr barrier(Hints hints = {}) = 0;

  // Messages between two ranks match by tag, in the order of sending. A receive may be larger than its message. A
  // receive from kAnySource takes the first message with its tag. Such a receive fails when a rank has died, or when no
  // rank is left to send.
  virtual WorkPtr send(const void* data, std::size_t bytes, int to, std::uint32_t tag = 0, Hints hints = {}) = 0;
  virtual WorkPtr recv(void* data, std::size_t capacity_bytes, int from, std::uint32_t tag = 0, Hints hints = {}) = 0;

  // Replaces the policy of RAILWEAVE_SCHEDULE from the next operation on: "off", "window:2", "window:64M" or "auto".
  // The policy holds for all groups of this engine; with "auto" each group that calls this function learns. Operations
  // that a host's shm exchange takes stay there. REQUIRES: every rank of the group makes the same call, after the
  // same operation. Errors: invalid_config (nothing has changed); internal (forked child).
  virtual Status schedule_by(const std::string& policy) = 0;

  // Ends the group, and every unfinished operation as cancelled. Notifies the other ranks: waits for the store, two
  // seconds at most. Any thread.
  virtual void abort(const std::string& why) = 0;

  // --- for diagnosis; any thread
  // Returns the collective operations that are not over. Once the group fails: those that were not over then. Takes the
  // runner's lock.
  virtual std::vector<UnfinishedCall> unfinished() = 0;
  // Calls `report` once, when the group begins to fail by itself: a lost rank, or calls that differ. Neither abort()
  // nor the destructor cause the call. The unfinished operations end after `report` returns, or after five seconds.
  // `report` runs on a thread that drives, and must not wait for operations. An exception of `report` is logged. A
  // second call replaces `report`.
  virtual void when_failing(std::function<void(const Status&)> report) = 0;
  // Asks the store in the background whether another rank has ended the group. If so, the group fails. A group with
  // unfinished operations asks by itself; without them only this call makes a group notice.
  virtual void ask_others() = 0;
};

}  // namespace railweave::collectives
