// Ranks that do operations together.
//
// Ranks of one host use shared memory where the engines of all were started with Config::shm (RAILWEAVE_SHM), which is
// off unless asked for; the perf programs and the torch backend ask for it.
// Threads: a Group may be used from any thread; calls from several threads at once are taken in some order, which must
// be the same on every rank. Operations return at once; they match in issue order and finish in any.
// Fork: a group is dead in a child forked since, its calls and Works say so; the child may create groups on engines of
// its own.
// Memory: input and output belong to the operation until its Work is done. Equal addresses are in place where the
// operation allows it (see schedule/problem.h); any other overlap is refused.
// Errors: a refused argument ends that Work alone (invalid_argument; the other ranks then wait for an operation that
// does not come, as with every such library). Anything else ends the group: its first error sticks and names the rank
// that was lost. A rank that is done and leaves is lost only to who still wants something from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/kernels/types.h"
#include "collectives/rendezvous/store.h"
#include "railweave/endpoint.h"

namespace railweave::collectives {

// What a caller may tell of an operation. `priority` goes with its bytes into the sessions; of a message the sender's
// counts (the receiver's hints say nothing), and up to 8 KiB ride with the envelopes, which are of the normal class.
// Messages, and what goes by an exchange, are not admitted by the scheduler (docs/internals/scheduler.md): they begin
// at once.
struct Hints {
  Priority priority = Priority::normal;  // of operations the same on every rank: it chooses the channel
  // Tells operations apart that look alike: which part of how many, where the caller cut one; which element type, where
  // we have no such type. The same on every rank, or the ranks do not do the same operation.
  std::uint64_t part = 0;
  // Nothing reads these two yet.
  TimePoint deadline = TimePoint::max();  // when the result will be missed
  std::uint64_t tag = 0;                  // the caller's name for it, in traces
};

// An operation on its way. Shared: dropping it does not end the operation.
class Work {
 public:
  virtual ~Work() = default;
  // Drives a little; true once over, well or badly.
  virtual bool test() = 0;
  // Drives until over. timed_out: it goes on and may be waited for again. Without a timeout a rank that is stopped
  // (SIGSTOP), but not dead, is waited for without limit.
  virtual Status wait(Nanos timeout = Nanos::max()) = 0;
  // Ends it as cancelled, and with it its group: the other ranks cannot go on without this one. Any thread; every
  // waiter returns.
  virtual void abort() = 0;
  // Called once, when over, on the thread that drove it (or at once if it is over); must neither throw nor wait for
  // operations.
  virtual void when_over(std::function<void(const Status&)> callback) = 0;
  // --- valid once over
  virtual Status status() const = 0;
  virtual int source() const = 0;         // recv: who sent it; else -1
  virtual std::size_t bytes() const = 0;  // recv: how long it was; else 0
};
using WorkPtr = std::shared_ptr<Work>;

inline constexpr int kAnySource = -1;

class Group {
 public:
  struct Options {
    std::string name;  // the same on every rank; one group of that name per store at a time
    int rank = 0;
    int size = 1;
    Nanos timeout = std::chrono::seconds(60);  // for the others to come
    std::string traced_as{};                   // in traces, likewise the same; empty: `name`
  };
  // Every rank calls it. Errors: timed_out (names the ranks that did not come), exhausted (a rank came twice, or to a
  // group of another size: named), what the engine or the store said.
  static Result<std::shared_ptr<Group>> create(std::shared_ptr<Engine> engine, std::shared_ptr<Store> store,
                                               const Options& options);
  // Unfinished operations end as cancelled: then it waits until the store has heard so, two seconds at most. Waits for
  // no other rank.
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Counts are elements. See Operation in schedule/problem.h for who has which memory; unused pointers may be null.
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

  // Messages between two ranks match by tag, in the order they were sent. A receive may be larger than its message.
  // kAnySource takes the message of that tag which came first; it fails when nobody is left who could send one, or one
  // died.
  virtual WorkPtr send(const void* data, std::size_t bytes, int to, std::uint32_t tag = 0, Hints hints = {}) = 0;
  virtual WorkPtr recv(void* data, std::size_t capacity_bytes, int from, std::uint32_t tag = 0, Hints hints = {}) = 0;

  // From the next operation on, what RAILWEAVE_SCHEDULE says at first: "off", "window:2", "window:64M" or "auto"; of
  // all groups of this engine ("auto": each group that calls it learns). Operations of one host that the exchange takes
  // go on there. REQUIRES: every rank of the group calls it alike, after the same operation. Errors: invalid_config,
  // nothing has changed then; internal (forked).
  virtual Status schedule_by(const std::string& policy) = 0;

  // Ends every unfinished operation as cancelled; the other ranks are told: waits for the store, two seconds at most.
  // Any thread.
  virtual void abort(const std::string& why) = 0;
};

}  // namespace railweave::collectives
