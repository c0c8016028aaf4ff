// Worlds in which a rail repeatedly swallows everything in one direction for a while, unannounced. Control must go on
// over the spared rail all the while (decision D8), long before the silent lanes are given up.
#include <algorithm>

#include "tests/sim/world.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

// Two lanes may be silent at once, and control leaves each of them 60 ms and two polls of 20 ms after the lane took it.
// Pauses and the spared rail's queue add to this. A silent lane is given up after 0.3 s, so control that waits for this
// comes later than kControlMost.
constexpr Nanos kControlMost = 290ms;
constexpr Nanos kSilenceMost = 1500ms;
constexpr int kRails = 2;

}  // namespace

// Fast rails with small queues, so that control waits for lanes and not for queues.
void World::make_hosts_that_swallow() {
  for (int i = 0; i < 2; ++i) {
    Host& host = add_host("host" + std::to_string(i));
    for (int k = 0; k < kRails; ++k) {
      wire::LinkSpec spec;
      spec.name = host.name + ".rail" + std::to_string(k);
      spec.rate = Rate::from_megabits(between(500, 20'000));
      spec.delay = Nanos(std::int64_t(between(1e3, 1e5)));
      spec.queue_bytes = std::size_t(between(8e3, 64e3));
      spec.send_buffer_bytes = std::size_t(between(4e3, 64e3));
      spec.receive_buffer_bytes = std::size_t(between(16e3, 1e6));
      host.add_rail({.link = &net_.add_link(spec), .rate = spec.rate, .spared = k == spared_rail_});
    }
  }
  make_couple(hosts_[0], hosts_[1]);
  flows_most_ = 6;
}

void World::swallow_for_a_while() {
  Host& host = hosts_[below(2)];
  wire::SimLink& link = *host.rails[std::size_t(1 - spared_rail_)].link;
  const int direction = int(below(2));
  say(link.spec().name + (direction == 0 ? " swallows what it sends" : " swallows what comes"));
  link.silence(direction);
  swallows_ = true;
  net_.after(up_to(kSilenceMost), [this, &link, direction] {
    say(link.spec().name + " swallows no more");
    link.resume(direction);
    swallows_ = false;
  });
}

void World::check_control() {
  for (Couple& c : couples_) {
    for (ControlRules* rules : {&c.control_of_a, &c.control_of_b}) {
      const std::string late = rules->overdue(net_.now(), kControlMost);
      if (!late.empty()) fail("control waits though a lane works: " + late);
    }
  }
}

std::string World::run_swallowing() {
  weather_ = {.lanes_die = false,
              .ends_sleep = false,
              .rude = false,
              .refusals = false,
              .mortal = false,
              .spared = true,
              .lasting = false};
  checks_control_ = true;
  peer_timeout_ = 10s;
  make_hosts_that_swallow();
  run_for(1ms);
  for (std::uint64_t n = 2 + below(4); n > 0; --n) make_flow();
  for (std::uint64_t n = 100 + below(200); n > 0 && failure_.empty(); --n) {
    act();
    if (!swallows_ && chance(0.1)) swallow_for_a_while();
    run_for(up_to(20ms));
    check_control();
  }
  checks_control_ = false;
  if (failure_.empty()) settle();
  if (failure_.empty()) end_all();
  return verdict();
}

}  // namespace railweave::sim
