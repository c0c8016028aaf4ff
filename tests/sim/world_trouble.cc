// Faults of a world's rails, lanes, streams and hosts.
#include <algorithm>

#include "tests/sim/world.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kVerdictLateMost = 100ms;
constexpr std::uint64_t kFlowBytesMost = 400 * KiB;  // about, posted on one flow

}  // namespace

void World::act() {
  if (chance(0.08)) make_flow();
  if (!flows_.empty()) {
    Flow& flow = *flows_[below(flows_.size())];
    if (flow.posted_bytes() < kFlowBytesMost)
      for (std::uint64_t n = below(10); n > 0; --n) flow.post_send();
    if (chance(0.03)) flow.expedite();
    Flow& another = *flows_[below(flows_.size())];
    for (std::uint64_t n = below(12); n > 0 && another.posted_bytes() < kFlowBytesMost; --n) another.post_receive();
  }
  if (weather_.ends_sleep && chance(0.05)) {
    Couple& c = any_couple();
    (chance(0.5) ? c.a : c.b)->sleep_until(net_.now() + up_to(chance(0.05) ? 1500ms : 10ms));
  }
  if (weather_.lanes_die && chance(0.15)) trouble_rails();
  if (chance(0.02)) tell_of_rails();
  if (retirements_() % 16 == 0) retire_a_lane();
  if (weather_.rude && chance(0.05)) trouble_flows();
  if (weather_.mortal && chance(0.01)) trouble_hosts();
}

// One end announces a few statements about its rails, as if addresses changed or rails came.
void World::tell_of_rails() {
  Couple& c = any_couple();
  if (c.dead) return;
  RailTalk& talk = chance(0.5) ? *c.told_by_a : *c.told_by_b;
  for (std::uint64_t n = 1 + below(4); n > 0; --n)
    talk.tell(int(below(3)), chance(0.2) ? protocol::kControlPayloadBytesMax : below(100));
}

void World::later(std::function<void()> what) {
  const Nanos most = weather_.lasting && chance(0.5) ? 4s : chance(0.1) ? 400ms : 40ms;
  net_.after(up_to(most), [this, what = std::move(what)] {
    if (!faults_over_) what();
  });
}

void World::trouble_rails() {
  Host& host = hosts_[below(hosts_.size())];
  HostRail& rail = host.rails[below(host.rails.size())];
  if (chance(0.15)) return void(give_up_a_lane());
  if (chance(0.05)) return void(reset_all_lanes());
  if (rail.spared || host.fate == Host::Fate::lost_power) return;
  trouble_rail(host, rail, RailTrouble(below(kRailTroubles)));
}

bool World::trouble_rail(Host& host, HostRail& rail, RailTrouble trouble) {
  wire::SimLink& link = *rail.link;
  switch (trouble) {
    case RailTrouble::cut:
      say(link.spec().name + " cut");
      link.cut();
      later([this, &link] {
        say(link.spec().name + " carries new lanes");
        link.restore();
      });
      break;
    case RailTrouble::silent_outwards: silence(host, rail, 0); break;
    case RailTrouble::silent_inwards: silence(host, rail, 1); break;
    case RailTrouble::silent:
      silence(host, rail, 0);
      silence(host, rail, 1);
      break;
    case RailTrouble::no_link:  // only its own host is informed; the others receive nothing
      if (rail.link_down) return false;
      say(link.spec().name + " has no link");
      link.silence();
      set_link(host, rail, false);
      later([this, &host, &rail] {
        say(rail.link->spec().name + " has a link again");
        if (host.fate != Host::Fate::lost_power) rail.link->resume();
        set_link(host, rail, true);
      });
      break;
    case RailTrouble::slow: slow(host, rail); break;
  }
  return true;
}

// The host's kernel reports the link to its engine.
void World::set_link(Host& host, HostRail& rail, bool up) {
  if (rail.link_down == !up) return;
  rail.link_down = !up;
  const int number = int(&rail - host.rails.data());
  engine::PeerRail& announced = host.announced[std::size_t(number)];
  announced.link_down = !up;
  for (Couple& c : couples_) {
    for (SessionEnd* end : {c.a.get(), c.b.get()}) {
      if (&end->host() != &host || !host.lives()) continue;
      c.keeping->on_link(*end, number, up);
      (end == c.a.get() ? *c.told_by_a : *c.told_by_b).tell_state(number, announced);
    }
  }
}

// The rail resumes later, with all that was under way.
void World::silence(Host& host, HostRail& rail, int direction) {
  say(rail.link->spec().name + (direction == 0 ? " silent outwards" : " silent inwards"));
  rail.link->silence(direction);
  later([this, &host, &rail, direction] {
    if (host.fate == Host::Fate::lost_power || rail.link_down) return;
    say(rail.link->spec().name + " speaks again");
    rail.link->resume(direction);
  });
}

void World::slow(Host&, HostRail& rail) {
  const double by = chance(0.5) ? 1000 : between(1.5, 1000);
  say(rail.link->spec().name + " slower by " + std::to_string(by));
  rail.link->set_rate(Rate{rail.rate.bytes_per_s / by});
  later([&rail] { rail.link->set_rate(rail.rate); });
}

// One end gives up a lane that works, as after a malformed frame. Not between two spared rails: these must carry.
bool World::give_up_a_lane() {
  Couple& c = any_couple();
  SessionEnd& end = *(chance(0.5) ? c.a : c.b);
  const auto open = end.open_lanes();
  if (open.empty() || !end.host().lives()) return false;
  const auto& lane = open[below(open.size())];
  if (weather_.spared && lane.rails == engine::RailPair{spared_rail_, spared_rail_}) return false;
  say(end.name() + ": gives up lane " + std::to_string(lane.id));
  const bool late = chance(0.3);
  end.give_up(lane.id, late ? 1us + up_to(kVerdictLateMost) : Nanos(0));
  if (late) end.reset_lane(lane.id);  // another lane may have its place by then
  return true;
}

// Resets all lanes of a session at both ends, as a firewall that loses its state does. If a rail works, the session
// goes on.
bool World::reset_all_lanes() {
  Couple& c = any_couple();
  if (c.dead || !c.a->host().lives() || !c.b->host().lives()) return false;
  say(c.a->name() + " and " + c.b->name() + ": all lanes are reset");
  c.a->reset_lanes();
  c.b->reset_lanes();
  return true;
}

// Retires a lane in good order and under load; in a quarter of the cases the dialler calls it back. The plan may dial
// another lane at once.
void World::retire_a_lane() {
  Couple& c = couples_[retirements_() % couples_.size()];
  const auto open = c.a->open_lanes();
  if (open.size() < 2 || c.dead || !c.a->host().lives()) return;
  const engine::RailPair rails = open[retirements_() % open.size()].rails;
  if (weather_.spared && rails == engine::RailPair{spared_rail_, spared_rail_}) return;  // all others may be lost
  const std::string what =
      c.a->name() + ": a lane of rail " + std::to_string(rails.local) + " to rail " + std::to_string(rails.remote);
  say(what + " retires");
  c.keeping->retirement().retire(rails);
  c.keeping->poll();
  if (retirements_() % 4 != 0) return;
  net_.after(Nanos(retirements_() % 2'000'000), [this, &c, rails, what] {
    if (c.dead) return;
    say(what + " serves again");
    c.keeping->retirement().serve_again(rails);
    c.keeping->poll();
  });
}

void World::trouble_flows() {
  if (flows_.empty()) return;
  Flow& flow = *flows_[below(flows_.size())];
  say("trouble for " + flow.state());
  switch (below(4)) {
    case 0: return flow.close_sender();
    case 1: return flow.close_receiver();
    case 2: return void(flow.withdraw_sender());
    default: return void(flow.withdraw_receiver());
  }
}

void World::trouble_hosts() {
  Host& host = hosts_[below(hosts_.size())];
  if (!host.lives()) return;
  static constexpr Host::Fate kFates[] = {Host::Fate::crashed, Host::Fate::lost_power, Host::Fate::leaves};
  end_host(host, kFates[below(3)]);
}

// Ends a host at any instant. A host that leaves aborts the streams of its unfinished requests first.
void World::end_host(Host& host, Host::Fate fate) {
  say(host.name + (fate == Host::Fate::leaves ? " leaves" : fate == Host::Fate::crashed ? " crashes" : " loses power"));
  host.fate = fate;
  if (fate == Host::Fate::lost_power)
    for (HostRail& rail : host.rails) rail.link->silence();
  for (Couple& c : couples_) {
    for (SessionEnd* end : {c.a.get(), c.b.get()}) {
      if (&end->host() != &host) continue;
      c.dead = true;
      const bool in_peace = fate == Host::Fate::leaves && !weather_.lanes_die && !end->over();
      for (Flow* flow : c.flows) {
        if (fate != Host::Fate::leaves)
          flow->end_died(*end);
        else
          flow->leave(*end, in_peace);
      }
      if (fate == Host::Fate::leaves) c.keeping->stop(*end), end->leave();
      if (fate == Host::Fate::crashed) {
        end->die(false);
        c.keeping->stop(*end);
        if (c.crashed_at == TimePoint{}) c.crashed_at = net_.now();
      }
      if (fate == Host::Fate::lost_power) end->die(true);
    }
  }
}

void World::heal() {
  faults_over_ = true;
  for (Host& host : hosts_) {
    for (HostRail& rail : host.rails) {
      rail.link->restore();
      rail.link->set_rate(rail.rate);
      if (host.fate != Host::Fate::lost_power) rail.link->resume();
      set_link(host, rail, true);
    }
  }
  for (Couple& c : couples_) {
    c.a->wake_up(), c.b->wake_up();
    if (!c.dead) c.keeping->poll();
  }
}

}  // namespace railweave::sim
