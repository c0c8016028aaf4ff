// SimNetwork is a network in virtual time: one clock, one event queue, one seed. The same calls always give the same
// run.
//
//   SimNetwork net(seed);
//   auto [a, b] = net.connect(LinkSpec{.rate = Rate::from_megabits(1000)});
//   a->on_ready = [&](Lane& lane) { ... lane.read(handler, budget); lane.write(handler); ... };
//   net.run_until(net.now() + std::chrono::seconds(1));
//
// Lifetime: the network owns its links, and must outlive its lanes.
// Threads: one. No call blocks. Events run inside step(), run_until() and run_while_not() only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "railweave/units.h"
#include "wire/sim/lane.h"
#include "wire/sim/link.h"

namespace railweave::wire {

class SimNetwork {
 public:
  explicit SimNetwork(std::uint64_t seed) : random_(seed) {}
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  TimePoint now() const { return now_; }  // starts at one second, so TimePoint{} is never now

  // Add a link, and connect a pair of lanes over it. Lanes on one link share its rate and its failures.
  SimLink& add_link(const LinkSpec& spec);
  std::pair<std::unique_ptr<SimLane>, std::unique_ptr<SimLane>> connect(SimLink& link);
  // Connects over two links: `first` at the first lane's end, `second` at the other end.
  std::pair<std::unique_ptr<SimLane>, std::unique_ptr<SimLane>> connect(SimLink& first, SimLink& second);
  // Connects over a new link, which the lanes' link() returns.
  std::pair<std::unique_ptr<SimLane>, std::unique_ptr<SimLane>> connect(const LinkSpec& spec);

  // Calls `what` at `when`; a time in the past means now. Events of one time run in the order of their addition.
  void at(TimePoint when, std::function<void()> what);
  void after(Nanos delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  bool step();                    // runs the next event; false: no event is left
  void run_until(TimePoint end);  // runs all events up to and including `end`; then now() is `end`
  // Runs events until `done`. False: the next event is after `limit`, or no event is left.
  bool run_while_not(const std::function<bool()>& done, TimePoint limit);

  std::uint64_t random() { return random_(); }
  std::uint64_t random_below(std::uint64_t n) { return n > 1 ? random_() % n : 0; }
  bool chance(double probability) { return double(random_() >> 11) * 0x1p-53 < probability; }

 private:
  struct Event {
    TimePoint when;
    std::uint64_t number;  // events with equal `when` run in this order
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return when != other.when ? when > other.when : number > other.number;  // reversed, for a max-heap
    }
  };

  TimePoint now_{std::chrono::seconds(1)};
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<SimLink>> links_;
  std::uint64_t lanes_ = 0;  // pairs connected so far
  std::priority_queue<Event> events_;
  std::uint64_t events_added_ = 0;
};

}  // namespace railweave::wire
