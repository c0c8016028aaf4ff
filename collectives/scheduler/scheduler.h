// Decides which of the operations that a process has issued may move bytes now (docs/internals/scheduler.md has the
// rules, and why they cannot deadlock).
//
// A state machine: no clock, no thread, no I/O. Threads: one at a time. Cost: next to nothing while off. Otherwise
// issue() and finish() sort the unfinished operations that count; FSDP has tens of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/scheduler/window.h"
#include "railweave/endpoint.h"
#include "railweave/units.h"

namespace railweave::collectives {

class Scheduler {
 public:
  using QueueId = std::uint64_t;  // one group's operations of one priority; numbered by the caller
  using Id = std::uint64_t;
  using Lead = std::optional<std::uint64_t>;  // of a key, in bytes issued; none: the priority's lead

  static constexpr std::size_t kSmallBytes = 64 * KiB;  // smaller operations are live at once and do not count
  static constexpr Nanos kStallMost = std::chrono::milliseconds(1);  // a starting point, to be measured

  Scheduler() = default;
  explicit Scheduler(const Window& window) : window_(window) {}

  // Sets the window from now on, whatever is proposed. Operations beyond a smaller window are held.
  void set_window(const Window& window, TimePoint now);
  const Window& window() const { return window_; }
  // Follows the proposals of groups from now on, including earlier ones that were not withdrawn. Off while there is
  // none.
  void open_to_proposals(TimePoint now);
  bool open() const { return open_; }
  // Proposes a window for a group whose steps move `step_bytes`. The proposal with the most bytes counts; of equal ones
  // the smallest `by`. `by`: the group's first queue. A window from set_window() has precedence.
  void propose(QueueId by, std::size_t step_bytes, const Window& window, TimePoint now);
  // Withdraws the group's proposal.
  void withdraw(QueueId by, TimePoint now);
  // Returns true if every operation is live.
  bool off() const { return window_ == Window{}; }

  // Adds an operation. `bytes`: moved by the operation, the same on every rank. `at`: bytes of all counting operations
  // that the program issued before it ("V" in docs/internals/scheduler.md). While off, and below kSmallBytes, the
  // operation does not count: it is always live, and moved() and finish() do nothing.
  Id issue(QueueId queue, Priority priority, std::size_t bytes, std::uint64_t at, TimePoint now, Lead lead = {});
  // Returns false if the operation must post nothing new. Any call below may change the answer.
  bool live(Id id) const;
  // Reports that a step of the operation ended, whether live or held.
  void moved(Id id, TimePoint now);
  // Reports that the operation is over or was abandoned.
  void finish(Id id, TimePoint now);
  // Gives the turn of stalled live operations to other queues. Call it now and then while held() > 0. Returns true if
  // other operations are live now.
  bool pass_turn(TimePoint now);

  // Operations that count and are not over, in the order in which they get places.
  struct Standing {
    Id id = 0;
    bool live = false;
    bool waits_for_turn = false;  // its queue stalled and has not moved since
    std::uint64_t key = 0;        // the smaller goes first if neither queue waits for its turn
    std::uint64_t queue_key = 0;  // last key of its queue; later operations of the queue have no smaller one
    TimePoint moved_at{};         // live: time of the last moved(), or when it became live
    friend auto operator<=>(const Standing&, const Standing&) = default;
  };
  std::vector<Standing> standings() const;
  std::size_t held() const { return held_; }
  std::size_t live_bytes() const { return live_.bytes; }  // within the window, or one operation
  // Most operations and bytes that were live at once since the last call; none if no window chose in between.
  struct Live {
    std::size_t operations = 0, bytes = 0;
  };
  std::optional<Live> take_most_live();

 private:
  struct Operation {
    std::uint64_t key = 0;  // virtual time in bytes issued; the smaller goes first
    QueueId queue = 0;
    std::size_t bytes = 0;
    TimePoint moved_at{};
    bool live = false;
  };
  struct QueueState {
    std::uint64_t last_key = 0;
    // 0: ordered by key. Else the queue stalled, and waits behind queues with a smaller turn.
    std::uint64_t turn = 0;
    std::size_t operations = 0;
  };
  struct Proposal {
    std::size_t step_bytes = 0;
    Window window;
  };

  std::uint64_t lead(Priority priority) const;
  bool choose(TimePoint now);
  void follow_proposals(TimePoint now);
  std::vector<std::pair<Id, const Operation*>> in_order() const;

  Window window_;
  bool open_ = false;                      // to proposals
  std::map<QueueId, Proposal> proposals_;  // by the first queue of the group
  std::map<Id, Operation> operations_;     // unfinished operations that count
  std::map<QueueId, QueueState> queues_;   // queues of operations_
  std::size_t largest_bytes_ = 0;          // of the largest operation so far
  std::uint64_t turns_ = 0;                // turns given so far
  Id next_id_ = 1;
  std::size_t held_ = 0;
  Live live_, most_live_;
  bool chosen_ = false;  // since take_most_live()
};

}  // namespace railweave::collectives
