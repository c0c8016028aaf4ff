// Says when a rail's link goes down and when it is up again, as the kernel tells it. Changes shorter than kSteady are
// not told. Says, too, at once when a rail's interface is gone, and when there may be other interfaces or addresses
// than before.
//
// On the reactor's thread only, except is_up(). Where the kernel tells nothing, links count as up: then silence shows
// what is dead.
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
  static constexpr Nanos kSettle = std::chrono::milliseconds(300);  // interfaces come in several steps
  static constexpr Nanos kAgain = std::chrono::seconds(2);          // after a shortage; doubles ...
  static constexpr Nanos kAgainMost = std::chrono::minutes(1);      // ... up to this
  using Report = std::function<void(int rail, bool up)>;
  using Gone = std::function<void(int rail)>;  // the rail is to forget its index
  using Changed = std::function<bool()>;       // false: something was short, and the change is to be looked at again

  // `rails` outlive it, and may grow.
  LinkWatch(Reactor& reactor, const std::vector<Rail>& rails);
  ~LinkWatch() { close(); }

  // Where the kernel cannot be asked for news now, it is asked again later.
  void open(Report reported, Gone gone, Changed changed);
  void close();

  // For what open() hears, for tests, and for rails that just came.
  void apply(const std::vector<discovery::LinkState>& news);

  // As told last. Any thread.
  bool is_up(int rail) const { return !(down_.load(std::memory_order_relaxed) >> rail & 1); }

 private:
  void on_ready(std::uint32_t) override;
  void report(std::size_t rail);
  Status listen();
  void stop_listening();
  void go_on_later();
  void find_changes(Nanos delay);

  struct Link {
    bool up = true;  // as heard
    bool reported = true;
    Reactor::TimerId timer = 0;  // set while the two differ
  };

  Reactor& reactor_;
  const std::vector<Rail>& rails_;
  Report reported_;
  Gone gone_;
  Changed changed_;
  Reactor::TimerId change_timer_ = 0;
  TimePoint change_at_{};  // when that is due
  Nanos again_ = kAgain;
  Reactor::TimerId listen_timer_ = 0;
  std::optional<discovery::LinkNews> news_;
  std::vector<Link> links_;             // by rail
  std::atomic<std::uint64_t> down_{0};  // a bit for each rail that is told to be down
};

}  // namespace railweave::engine
