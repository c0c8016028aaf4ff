// DayWorld: 64 hosts send to each other for a day of virtual time, while every kind of fault strikes again and again.
// Hosts that ended come back as new instances, and new streams follow those that failed. No byte may be lost, and no
// records may pile up. The first two rails of every host are spared in turn, so a session may fail only with a host.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace railweave::sim {

enum class Fault {
  rail_cut,
  rail_silent_outwards,
  rail_silent_inwards,
  rail_silent,
  rail_without_link,
  rail_slow,
  lane_given_up,
  all_lanes_reset,
  end_asleep,
  sender_closes,
  receiver_closes,
  sender_withdraws,
  receiver_withdraws,
  stream_refused,
  receive_too_short,
  host_crashes,
  host_loses_power,
  host_leaves,
};
inline constexpr std::size_t kFaults = 18;
const char* name_of(Fault fault);

class DayWorld final : public World {
 public:
  struct Plan {
    Nanos length;
    double segments_per_second;    // lower bound, of each host
    std::uint64_t faults_of_each;  // lower bound, of each kind
  };
  DayWorld(std::uint64_t seed, bool trace, const Plan& plan);

  // Runs the day. Returns what went wrong first; empty: nothing. Calls `every_second` once per virtual second.
  std::string run_day(const std::function<void()>& every_second);

  std::uint64_t faults(Fault fault) const { return faults_[std::size_t(fault)]; }
  std::uint64_t segments() const;                  // sent by all hosts, in sessions that are over
  std::uint64_t fewest_segments() const;           // the same, of the host that sent fewest
  std::uint64_t lives() const { return joined_; }  // sessions begun
  // Describes how many streams and lanes the sessions know now, those that are over included, and how many flows the
  // world has.
  std::string books() const;

 private:
  // the traffic from one end of a couple to the other: one stream after another
  struct Line {
    Couple* couple;
    bool forth;
    Flow* flow = nullptr;
    double owed = 0;  // messages due and not posted
    bool refused_next = false;
  };
  struct Watch {  // what keep_flows() noted of a flow
    std::uint64_t ended = 0;
    TimePoint moved{};
    TimePoint over_since{};
  };

  // --- day_world.cc
  void make_all();
  void speak(Line& line);
  void open(Line& line);
  bool accepts(const Flow& flow) override;
  void keep();
  void keep_flows();
  void keep_hosts();
  void renew(Couple& couple);
  void count_segments(const Couple& couple);
  bool finished(const Couple& couple);
  void spare(int rail);
  void end_calm(const std::vector<std::string>& sessions);
  std::size_t number_of(const Host& host) const;

  // --- day_trouble.cc
  void trouble_comes(Fault fault);
  bool trouble(Fault fault);
  bool trouble_of_rail(RailTrouble trouble);
  bool trouble_of_stream(Fault fault);
  bool end_a_host(Host::Fate fate);
  Line& any_line() { return lines_[below(lines_.size())]; }

  const Plan plan_;
  std::vector<Line> lines_;
  std::vector<std::pair<const Flow*, Watch>> watched_;  // the same flows as in flows_
  std::vector<int> refused_;                            // numbers of flows that their receivers will refuse
  std::vector<TimePoint> finished_since_;               // by couple; max: not finished
  std::vector<TimePoint> down_until_;                   // by host: earliest return of a host that ended
  std::vector<std::uint64_t> segments_;                 // by host, of sessions that are over
  std::array<std::uint64_t, kFaults> faults_{};
  TimePoint rails_back_off_until_{};
  int flows_ever_ = 0;
  bool over_ = false;
};

}  // namespace railweave::sim
