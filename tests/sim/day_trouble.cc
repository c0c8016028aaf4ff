// Faults of the hosts of a day.
#include <algorithm>

#include "tests/sim/day_world.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

constexpr double kMoreFaults = 1.04;  // than the plan asks for, as faults pause at times
constexpr Nanos kAgain = 200ms;       // after a fault found no target
constexpr Nanos kDownMost = 10s;
constexpr std::ptrdiff_t kHostsDownMost = 8;

}  // namespace

const char* name_of(Fault fault) {
  static constexpr const char* kNames[kFaults] = {
      "rail cut",        "rail silent outwards", "rail silent inwards", "rail silent",    "rail without link",
      "rail slow",       "lane given up",        "all lanes reset",     "end asleep",     "sender closes",
      "receiver closes", "sender withdraws",     "receiver withdraws",  "stream refused", "receive too short",
      "host crashes",    "host loses power",     "host leaves"};
  return kNames[std::size_t(fault)];
}

// Schedules the next fault of this kind, and the one after that.
void DayWorld::trouble_comes(Fault fault) {
  const Nanos mean =
      Nanos(std::int64_t(double(plan_.length.count()) / (kMoreFaults * double(plan_.faults_of_each) + 1)));
  const auto strike = [this, fault](const auto& self) -> void {
    if (over_) return;
    if (!trouble(fault)) return net_.after(kAgain, [self] { self(self); });
    ++faults_[std::size_t(fault)];
  };
  net_.after(up_to(mean), [strike] { strike(strike); });
  net_.after(mean, [this, fault] {
    if (!over_) trouble_comes(fault);
  });
}

bool DayWorld::trouble(Fault fault) {
  switch (fault) {
    case Fault::rail_cut: return trouble_of_rail(RailTrouble::cut);
    case Fault::rail_silent_outwards: return trouble_of_rail(RailTrouble::silent_outwards);
    case Fault::rail_silent_inwards: return trouble_of_rail(RailTrouble::silent_inwards);
    case Fault::rail_silent: return trouble_of_rail(RailTrouble::silent);
    case Fault::rail_without_link: return trouble_of_rail(RailTrouble::no_link);
    case Fault::rail_slow: return trouble_of_rail(RailTrouble::slow);
    case Fault::lane_given_up: return net_.now() >= rails_back_off_until_ && give_up_a_lane();
    case Fault::all_lanes_reset: return net_.now() >= rails_back_off_until_ && reset_all_lanes();
    case Fault::end_asleep: {
      Couple& c = any_couple();
      if (c.dead) return false;
      (chance(0.5) ? c.a : c.b)->sleep_until(net_.now() + up_to(1500ms));
      return true;
    }
    case Fault::stream_refused: {
      Line& line = any_line();
      if (line.couple->dead || line.flow == nullptr || line.refused_next || !line.flow->open_at_both_ends())
        return false;
      line.refused_next = true;
      line.flow->end();
      return true;
    }
    case Fault::host_crashes: return end_a_host(Host::Fate::crashed);
    case Fault::host_loses_power: return end_a_host(Host::Fate::lost_power);
    case Fault::host_leaves: return end_a_host(Host::Fate::leaves);
    default: return trouble_of_stream(fault);
  }
}

bool DayWorld::trouble_of_rail(RailTrouble trouble) {
  Host& host = hosts_[below(hosts_.size())];
  HostRail& rail = host.rails[below(host.rails.size())];
  return net_.now() >= rails_back_off_until_ && host.lives() && !rail.spared && trouble_rail(host, rail, trouble);
}

bool DayWorld::trouble_of_stream(Fault fault) {
  Line& line = any_line();
  if (line.couple->dead || line.flow == nullptr || !line.flow->open_at_both_ends()) return false;
  Flow& flow = *line.flow;
  say(std::string(name_of(fault)) + ": " + flow.state());
  switch (fault) {
    case Fault::sender_closes: flow.close_sender(); return true;
    case Fault::receiver_closes: flow.close_receiver(); return true;
    case Fault::sender_withdraws: return flow.withdraw_sender();
    case Fault::receiver_withdraws: return flow.withdraw_receiver();
    default: return flow.post_short_receive();
  }
}

bool DayWorld::end_a_host(Host::Fate fate) {
  Host& host = hosts_[below(hosts_.size())];
  if (!host.lives() || std::ranges::count_if(hosts_, [](const Host& h) { return !h.lives(); }) >= kHostsDownMost)
    return false;
  const std::size_t i = number_of(host);
  // The host must have both sessions to lose.
  if (couples_[i].dead || couples_[(i + hosts_.size() - 1) % hosts_.size()].dead) return false;
  down_until_[i] = net_.now() + up_to(kDownMost);
  end_host(host, fate);
  return true;
}

}  // namespace railweave::sim
