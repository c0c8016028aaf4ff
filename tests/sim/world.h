// World: hosts with rails and clocks, sessions between them, streams with requests on both sides, and faults of all
// kinds (docs/internals/simulator.md). One seed makes all of it, and the same seed gives the same run.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/control_rules.h"
#include "tests/sim/flow.h"
#include "tests/sim/host.h"
#include "tests/sim/lane_keeping.h"
#include "tests/sim/memory_watch.h"
#include "tests/sim/rail_talk.h"
#include "tests/sim/session_end.h"
#include "wire/sim/network.h"

namespace railweave::sim {

class World {
 public:
  World(std::uint64_t seed, bool trace);
  virtual ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  // Runs the world. Returns what went wrong first; empty: nothing.
  std::string run();

  std::uint64_t bytes_consumed() const;
  std::size_t hosts() const { return hosts_.size(); }
  Nanos lasted() const { return net_.now() - TimePoint(std::chrono::seconds(1)); }

 protected:
  struct Couple {  // the two ends of a session; `a` dials
    std::unique_ptr<SessionEnd> a, b;
    std::unique_ptr<LaneKeeping> keeping;
    std::unique_ptr<RailTalk> told_by_a, told_by_b;
    std::vector<Flow*> flows;
    ControlRules control_of_a, control_of_b;
    // Drawn once per couple, so that each of its sessions needs as much.
    std::array<std::size_t, 2> eager_limits_bytes{};
    int lanes_per_pair = 1;
    std::size_t eager_limit_bytes = 0;  // the smaller limit of the two ends
    bool dead = false;                  // an end is over, or will be
    TimePoint crashed_at{};             // when one end's process crashed, and its kernel lived on; 0: no crash
  };
  struct Weather {
    bool lanes_die, ends_sleep, rude, refusals, mortal;
    // the spared rail of each host has no faults of its own: a session may fail only with a host
    bool spared;
    bool lasting;  // faults last seconds, not milliseconds
  };

  // --- making
  void make_hosts();
  Host& add_host(const std::string& name);
  void make_couple(Host& a, Host& b);
  // Begins a new session between a and b. Nothing of an earlier session of the couple is kept.
  void join(Couple& couple, Host& a, Host& b);
  void add_rail(Host& host, bool spared);
  std::unique_ptr<SessionEnd> make_end(Couple& couple, Host& host, const std::string& name,
                                       std::size_t eager_limit_bytes);
  void watch_end(Couple& couple, SessionEnd& end);
  void make_flow();

  // --- what ends report
  virtual bool accepts(const Flow&) { return !weather_.refusals || !chance(0.1); }
  void on_event(Couple& couple, SessionEnd& end, const protocol::Event& event);
  void on_frame(Couple& couple, SessionEnd& end, SessionEnd::Passing passing, const protocol::FrameHeader& frame);
  void note_control(Couple& couple, SessionEnd& end, SessionEnd::Passing passing, const protocol::FrameHeader& frame);
  void on_over(Couple& couple, SessionEnd& end, const Status& why);
  void check_denial(const Couple& couple, const SessionEnd& end);

  // --- trouble: world_trouble.cc
  void act();
  void trouble_rails();
  void trouble_flows();
  void tell_of_rails();
  void trouble_hosts();
  void silence(Host& host, HostRail& rail, int direction);
  void set_link(Host& host, HostRail& rail, bool up);
  void slow(Host& host, HostRail& rail);
  enum class RailTrouble { cut, silent_outwards, silent_inwards, silent, no_link, slow };
  static constexpr std::uint64_t kRailTroubles = 6;
  // Returns false if the rail should lose its link and has none already.
  bool trouble_rail(Host& host, HostRail& rail, RailTrouble trouble);
  bool give_up_a_lane();
  bool reset_all_lanes();
  void retire_a_lane();
  void end_host(Host& host, Host::Fate fate);
  void heal();
  void later(std::function<void()> what);  // after a random time, unless faults are over by then

  // --- worlds of rails that swallow: world_swallowing.cc
  bool swallows() const { return seed_ % 16 == 13 || seed_ % 16 == 14; }
  std::string run_swallowing();
  void make_hosts_that_swallow();
  void swallow_for_a_while();
  void check_control();

  // --- the end
  void settle();
  bool settled();
  void say_last_words();
  void end_all();
  bool all_forgotten() const;
  std::string verdict();
  void renew_lanes();
  bool has_new_lanes(const std::vector<std::set<protocol::LaneId>>& old) const;
  // Runs the network until `done`. Fails the world if nothing moves for too long.
  void run_until(const std::function<bool()>& done, const char* what);
  void run_for(Nanos time);
  bool go_on();

  std::uint64_t below(std::uint64_t n) { return n > 1 ? random_() % n : 0; }
  bool chance(double p) { return double(random_() >> 11) * 0x1p-53 < p; }
  Nanos up_to(Nanos most) { return Nanos(std::int64_t(below(std::uint64_t(most.count()) + 1))); }
  double between(double least, double most);  // on a logarithmic scale
  Couple& any_couple() { return couples_[below(couples_.size())]; }
  void fail(const std::string& what);
  void say(const std::string& what);

  const std::uint64_t seed_;
  const bool trace_;
  int spared_rail_ = 0;  // index in every host, if weather_.spared
  std::mt19937_64 random_;
  std::mt19937_64 retirements_{seed_};  // apart, so that all else stays the same without retirements
  std::string failure_;
  MemoryWatch memory_;
  engine::LoggedAbsences logged_absences_;
  wire::SimNetwork net_;
  Weather weather_{};
  bool heavy_ = false;  // large messages, slow to simulate
  Nanos peer_timeout_{};
  std::deque<Host> hosts_;
  std::deque<Couple> couples_;
  std::deque<std::unique_ptr<Flow>> flows_;
  std::size_t flows_most_ = 0;
  bool faults_over_ = false;
  bool checks_control_ = false, swallows_ = false;
  std::uint64_t completions_ = 0, joined_ = 0;
};

}  // namespace railweave::sim
