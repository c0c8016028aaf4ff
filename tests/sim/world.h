// A small world made from one number: sessions, lanes of unequal rates over shared links, streams with requests on both
// sides, and trouble of all kinds. The same number gives the same run.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/sim/flow.h"
#include "tests/sim/memory_watch.h"
#include "tests/sim/session_end.h"
#include "wire/sim/network.h"

namespace railweave::sim {

class World {
 public:
  World(std::uint64_t seed, bool trace);
  // Empty, or what went wrong first.
  std::string run();

  std::uint64_t bytes_consumed() const;
  Nanos lasted() const { return net_.now() - TimePoint(std::chrono::seconds(1)); }

 private:
  struct LaneMade {
    protocol::LaneId id;
    wire::SimLink* link;
  };
  struct Couple {                        // two ends of a session
    std::unique_ptr<SessionEnd> a, b;
    std::vector<wire::SimLink*> links;
    std::vector<LaneMade> lanes;         // ever
    protocol::LaneId next_lane = 0;
    std::size_t eager_limit_bytes = 0;   // the smaller of both ends'
    bool dead = false;
  };
  struct Weather {
    bool lanes_die, ends_sleep, rude, refusals;
  };

  void make_couple();
  void make_lane(Couple& couple, wire::SimLink& link, Nanos delay_a, Nanos delay_b);
  void make_flow();
  void act();
  void trouble_lanes();
  void trouble_flows();
  void silence(wire::SimLink& link);
  void on_event(SessionEnd& end, const protocol::Event& event);
  void on_segment(SessionEnd& end, const protocol::FrameHeader& segment);

  void settle();
  void heal();
  bool settled();
  void kill_a_session();
  void end_all();
  bool all_forgotten() const;
  void renew_lanes();
  // Steps until `done`, as long as something moves: 3 s of standstill are wrong.
  void run_until(const std::function<bool()>& done, const char* what);
  void run_for(Nanos time);
  bool go_on();

  std::uint64_t below(std::uint64_t n) { return n > 1 ? random_() % n : 0; }
  bool chance(double p) { return double(random_() >> 11) * 0x1p-53 < p; }
  Nanos up_to(Nanos most) { return Nanos(std::int64_t(below(std::uint64_t(most.count()) + 1))); }
  double between(double least, double most);  // logarithmic
  Couple& any_couple() { return couples_[below(couples_.size())]; }
  Couple& couple_of(const SessionEnd& end);
  void fail(const std::string& what);
  void say(const std::string& what);

  const std::uint64_t seed_;
  const bool trace_;
  std::mt19937_64 random_;
  std::string failure_;
  MemoryWatch memory_;
  wire::SimNetwork net_;
  Weather weather_{};
  bool heavy_ = false;                   // large messages, slow to simulate
  std::deque<std::unique_ptr<wire::SimLane>> coming_;  // made, and not added by their end yet
  std::deque<Couple> couples_;
  std::vector<wire::SimLink*> links_;
  std::deque<std::unique_ptr<Flow>> flows_;
  bool faults_over_ = false;
  std::uint64_t completions_ = 0;
};

}  // namespace railweave::sim
