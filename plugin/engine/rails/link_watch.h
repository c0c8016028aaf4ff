// Reports when a rail's link goes down and when the link is up again, by the kernel's notifications (rtnetlink).
// Changes shorter than kSteady are not reported. Also reports at once that a rail's interface is gone, and after
// kSettle that interfaces or addresses may have changed.
//
// Threads: the reactor's only, except is_up(). Where the kernel sends no notifications, links count as up: then only
// silence of the peer shows which rail is dead.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "discovery/link_news.h"
#include "engine/runtime/reactor.h"
#include "railweave/device.h"

namespace railweave::engine {

class LinkWatch final : public Pollable {
 public:
  static constexpr Nanos kSteady = std::chrono::milliseconds(20);
  static constexpr Nanos kSettle = std::chrono::milliseconds(300);  // an interface is set up in several steps
  static constexpr Nanos kAgain = std::chrono::seconds(2);          // pause after a failed Changed; doubles ...
  static constexpr Nanos kAgainMost = std::chrono::minutes(1);      // ... up to this; also before listening again
  using Report = std::function<void(int rail, bool up)>;
  using Gone = std::function<void(int rail)>;  // must clear the rail's ifindex: the kernel may reuse the index
  using Changed = std::function<bool()>;       // false: resources were short; called again after a pause

  // `rails` outlives this object, and may grow.
  LinkWatch(Reactor& reactor, const std::vector<Rail>& rails);
  ~LinkWatch() { close(); }

  // Starts listening to the kernel. Where that fails, tries again each kAgainMost. Callbacks run on the reactor's
  // thread.
  void open(Report report_link, Gone gone, Changed changed);
  // Stops listening; no callback runs afterwards. Idempotent.
  void close();

  // Takes link states as if the kernel had sent them: for open()'s notifications, for tests, and for new rails.
  void apply(const std::vector<discovery::LinkState>& news);

  // The state last reported. Any thread.
  bool is_up(int rail) const { return !(down_.load(std::memory_order_relaxed) >> rail & 1); }

 private:
  void on_ready(std::uint32_t) override;
  void report(std::size_t rail);
  Status listen();
  void stop_listening();
  void go_on_later();
  void schedule_changed(Nanos delay);

  struct Link {
    bool up = true;              // as the kernel said last
    bool reported = true;        // the state last passed to Report
    Reactor::TimerId timer = 0;  // set while `up` and `reported` differ
  };

  Reactor& reactor_;
  const std::vector<Rail>& rails_;
  Report report_link_;
  Gone gone_;
  Changed changed_;
  Reactor::TimerId change_timer_ = 0;
  TimePoint change_at_{};                    // when change_timer_ is due
  Nanos again_ = kAgain;                     // the next pause after a failed Changed
  Reactor::TimerId listen_timer_ = 0;        // set while the kernel could not be listened to
  std::optional<discovery::LinkNews> news_;  // none: not listening
  std::vector<Link> links_;                  // by rail
  std::atomic<std::uint64_t> down_{0};       // bit `rail`: the rail's link was reported down
};

}  // namespace railweave::engine
