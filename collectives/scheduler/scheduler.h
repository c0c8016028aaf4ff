// Which of the operations that a process has issued may move bytes now (docs/internals/scheduler.md has the rules and
// why they cannot deadlock).
//
// A state machine: no clock, no thread, no I/O. Threads: one at a time. Costs next to nothing while it is off; else
// issue and finish sort the unfinished operations that count, of which FSDP has tens.
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
  using QueueId = std::uint64_t;  // one group's operations of one class; numbered by the caller
  using Id = std::uint64_t;
  using Lead = std::optional<std::uint64_t>;  // of a key, in bytes issued; none: its class's

  static constexpr std::size_t kSmallBytes = 64 * KiB;               // below: live at once, and counted nowhere
  static constexpr Nanos kStallMost = std::chrono::milliseconds(1);  // start

  Scheduler() = default;
  explicit Scheduler(const Window& window) : window_(window) {}

  // From now on, whatever is proposed: what is live beyond a smaller window is held.
  void set_window(const Window& window, TimePoint now);
  const Window& window() const { return window_; }
  // From now on groups propose a window as they learn it, or have proposed one and not withdrawn it; off until one
  // does.
  void open_to_proposals(TimePoint now);
  bool open() const { return open_; }
  // By a group whose steps move so many bytes; of several that of the most bytes counts (of equals the smallest `by`).
  // `by`: the group's first queue. Where a window was set, that one holds.
  void propose(QueueId by, std::size_t step_bytes, const Window& window, TimePoint now);
  // What that group learned holds no longer.
  void withdraw(QueueId by, TimePoint now);
  // Everything is live.
  bool off() const { return window_ == Window{}; }

  // `bytes`: what the operation moves, the same on every rank. `at`: the bytes of what the program issued before it and
  // that counts ("V" in docs/internals/scheduler.md). While off, and for less than kSmallBytes, the id counts nothing:
  // always live, moved() and finish() do nothing.
  Id issue(QueueId queue, Priority priority, std::size_t bytes, std::uint64_t at, TimePoint now, Lead lead = {});
  // False: post nothing new. May change with every call below.
  bool live(Id id) const;
  // A step of it ended: live or held.
  void moved(Id id, TimePoint now);
  // It is over, or was given up.
  void finish(Id id, TimePoint now);
  // Gives the turn on where what is live has stalled. Call it now and then while held() > 0. True: others are live now.
  bool pass_turn(TimePoint now);

  // Operations that count and are not over, the next first.
  struct Standing {
    Id id = 0;
    bool live = false;
    bool waits_for_turn = false;  // its queue had stalled and moved nothing since
    std::uint64_t key = 0;        // goes first where neither queue waits for its turn: the smaller
    std::uint64_t queue_key = 0;  // its queue's last: what is issued to that later has none that is smaller
    TimePoint moved_at{};         // live: by moved(), or when it became so
    friend auto operator<=>(const Standing&, const Standing&) = default;
  };
  std::vector<Standing> standings() const;
  std::size_t held() const { return held_; }
  std::size_t live_bytes() const { return live_.bytes; }  // at most the window, or one operation
  // The most of each that were live at once since this was last asked; nothing where no window chose meanwhile.
  struct Live {
    std::size_t operations = 0, bytes = 0;
  };
  std::optional<Live> take_most_live();

 private:
  struct Operation {
    std::uint64_t key = 0;  // in bytes issued: the smaller goes first
    QueueId queue = 0;
    std::size_t bytes = 0;
    TimePoint moved_at{};
    bool live = false;
  };
  struct QueueState {
    std::uint64_t last_key = 0;
    // 0: in the order of keys; else it stalled, and waits behind those of a smaller turn
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
  bool open_ = false;  // to proposals
  std::map<QueueId, Proposal> proposals_;
  std::map<Id, Operation> operations_;    // unfinished ones that count
  std::map<QueueId, QueueState> queues_;  // of these
  std::size_t largest_bytes_ = 0;         // of an operation so far
  std::uint64_t turns_ = 0;
  Id next_id_ = 1;
  std::size_t held_ = 0;
  Live live_, most_live_;
  bool chosen_ = false;  // since take_most_live()
};

}  // namespace railweave::collectives
