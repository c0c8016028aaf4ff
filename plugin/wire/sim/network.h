// A network in virtual time: one thread, one clock, one event queue, one seed. The same calls give the same run,
// always.
//
//   SimNetwork net(seed);
//   auto [a, b] = net.connect(LinkSpec{.rate = Rate::from_megabits(1000)});
//   a->on_ready = [&](Lane& lane) { ... lane.read(handler, budget); lane.write(handler); ... };
//   net.run_until(net.now() + std::chrono::seconds(1));
//
// The network outlives its lanes and links. Nothing here blocks, and nothing happens outside step() and run_until().
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

  TimePoint now() const { return now_; }  // starts at one second: TimePoint{} is never now

  // A link and what it carries: several lanes on one link share its rate and its fate.
  SimLink& add_link(const LinkSpec& spec);
  std::pair<std::unique_ptr<SimLane>, std::unique_ptr<SimLane>> connect(SimLink& link);
  // Over two links: `first` at the first lane's end, `second` at the other's.
  std::pair<std::unique_ptr<SimLane>, std::unique_ptr<SimLane>> connect(SimLink& first, SimLink& second);
  // The same over a link of its own: (*first).link() to trouble it.
  std::pair<std::unique_ptr<SimLane>, std::unique_ptr<SimLane>> connect(const LinkSpec& spec);

  // Calls `what` then; events of one time in the order in which they were added. Times gone by mean now.
  void at(TimePoint when, std::function<void()> what);
  void after(Nanos delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  bool step();                    // runs the next event; false: there is none
  void run_until(TimePoint end);  // all events up to and including `end`; then it is `end`
  // Until `done`; false: `limit` was reached, or nothing more will ever happen.
  bool run_while_not(const std::function<bool()>& done, TimePoint limit);

  std::uint64_t random() { return random_(); }
  std::uint64_t random_below(std::uint64_t n) { return n > 1 ? random_() % n : 0; }
  bool chance(double probability) { return double(random_() >> 11) * 0x1p-53 < probability; }

 private:
  struct Event {
    TimePoint when;
    std::uint64_t number;  // of adding: ties are served in this order
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return when != other.when ? when > other.when : number > other.number;  // a max-heap gives the earliest
    }
  };

  TimePoint now_{std::chrono::seconds(1)};
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<SimLink>> links_;
  std::uint64_t lanes_ = 0;  // pairs ever
  std::priority_queue<Event> events_;
  std::uint64_t events_added_ = 0;
};

}  // namespace railweave::wire
