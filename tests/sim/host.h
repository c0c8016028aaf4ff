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

// The clock of a host, which has its own speed. It times all that happens on the host.
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

// The Clock of an engine on that host.
class HostTime final : public Clock {
 public:
  HostTime(const wire::SimNetwork& net, const HostClock& clock) : net_(net), clock_(clock) {}
  TimePoint now() const override { return clock_.local(net_.now()); }
  const HostClock& clock() const { return clock_; }

 private:
  const wire::SimNetwork& net_;
  const HostClock& clock_;
};

// One NIC: all lanes over it share its rate, its queue and its faults.
struct HostRail {
  wire::SimLink* link = nullptr;
  Rate rate;               // without faults
  bool link_down = false;  // as the host's kernel reported
  bool spared = false;     // has no faults of its own
};

struct Host {
  enum class Fate { lives, crashed, lost_power, leaves };  // crashed: its kernel lives, and closes its connections
  std::string name;
  HostClock clock;
  int number = 0;  // index among the hosts
  std::vector<HostRail> rails;
  // The same rails as the host's engine has them, and as it announces them to peers. Rails of one index are in one
  // subnet; each rail reaches all others.
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
