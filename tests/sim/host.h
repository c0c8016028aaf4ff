// A simulated host: its clock, its rails, and how it ends.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/connect/hello.h"
#include "railweave/device.h"
#include "railweave/units.h"
#include "wire/sim/network.h"

namespace railweave::sim {

// Runs at a speed of its own. What happens on the host is timed by it.
struct HostClock {
  double speed = 1;
  TimePoint local(TimePoint t) const {
    return TimePoint(Nanos(std::int64_t(double(t.time_since_epoch().count()) * speed)));
  }
  TimePoint world(TimePoint t) const {
    return TimePoint(Nanos(std::int64_t(double(t.time_since_epoch().count()) / speed)));
  }
  Nanos world(Nanos t) const { return Nanos(std::int64_t(double(t.count()) / speed)); }
};

// What an engine of that host reads its time from.
class HostTime final : public Clock {
 public:
  HostTime(const wire::SimNetwork& net, const HostClock& clock) : net_(net), clock_(clock) {}
  TimePoint now() const override { return clock_.local(net_.now()); }
  const HostClock& clock() const { return clock_; }

 private:
  const wire::SimNetwork& net_;
  const HostClock& clock_;
};

// One NIC: all lanes over it share its rate, its queue and its fate.
struct HostRail {
  wire::SimLink* link = nullptr;
  Rate rate;               // when nothing ails it
  bool link_down = false;  // the host knows
  bool spared = false;     // nothing ever happens to it
};

struct Host {
  enum class Fate { lives, crashed, lost_power, leaves };  // crashed: its kernel lives and closes what it had open
  std::string name;
  HostClock clock;
  int number = 0;  // among the hosts
  std::vector<HostRail> rails;
  // The same, as the host's engine has them and tells them to peers. Rails of one index are in one subnet; each rail
  // reaches all others.
  std::vector<Rail> own;
  std::vector<engine::PeerRail> announced;
  Fate fate = Fate::lives;
  bool lives() const { return fate == Fate::lives; }
  void add_rail(const HostRail& rail);
};

inline void Host::add_rail(const HostRail& rail) {
  const std::string rail_name = rail.link->spec().name;
  const auto subnet = std::uint8_t(rails.size());
  const Address address{.family = Address::Family::v4,
                        .bytes = {10, subnet, std::uint8_t((number + 1) / 256), std::uint8_t((number + 1) % 256)},
                        .prefix_bits = 16};
  rails.push_back(rail);
  own.emplace_back();
  own.back().name = rail_name;
  own.back().addresses = {address};
  own.back().speed = rail.rate;
  announced.push_back({rail_name, std::uint32_t(rail.rate.megabits()), {{address, 4000}}, false});
}

}  // namespace railweave::sim
