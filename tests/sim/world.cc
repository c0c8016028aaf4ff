#include "tests/sim/world.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;
using protocol::Event;
using protocol::LaneId;

constexpr std::size_t kFlowsMost = 10;
constexpr std::uint64_t kBytesMost = 4 * MiB;  // posted in one world, about
constexpr Nanos kStandstill = 3s;

}  // namespace

World::World(std::uint64_t seed, bool trace) : seed_(seed), trace_(trace), random_(seed), net_(seed) {}

double World::between(double least, double most) {
  return least * std::pow(most / least, double(random_() >> 11) * 0x1p-53);
}

void World::fail(const std::string& what) {
  if (!failure_.empty()) return;
  failure_ = what;
  say("WRONG: " + what);
}

void World::say(const std::string& what) {
  if (trace_) std::fprintf(stderr, "%12.3f us  %s\n", double(lasted().count()) / 1e3, what.c_str());
}

std::uint64_t World::bytes_consumed() const {
  std::uint64_t sum = 0;
  for (const Couple& c : couples_) sum += c.a->bytes_consumed() + c.b->bytes_consumed();
  return sum;
}

World::Couple& World::couple_of(const SessionEnd& end) {
  return *std::ranges::find_if(couples_, [&](const Couple& c) { return c.a.get() == &end || c.b.get() == &end; });
}

// ------------------------------------------------------------------------------------------------------------ making

void World::make_couple() {
  static constexpr std::size_t kEagerLimits[] = {0, 100, 16 * KiB, 64 * KiB};
  static constexpr std::uint64_t kCaps[] = {0, 1, 100'000, 64 * MiB};
  Couple& c = couples_.emplace_back();
  const std::string number = std::to_string(couples_.size());
  std::size_t limits[2];
  for (int i = 0; i < 2; ++i) {
    const protocol::SessionOptions options{.eager_limit_bytes = limits[i] = kEagerLimits[below(4)], .incast_cap_bytes = kCaps[below(4)]};
    auto& end = i == 0 ? c.a : c.b;
    end = std::make_unique<SessionEnd>(net_, memory_, (i == 0 ? "a" : "b") + number, options, random_(), [this](const std::string& what) { fail(what); });
    SessionEnd& e = *end;
    e.on_completion = [this](const protocol::Completion& done) {
      ++completions_;
      Flow::on_completion(done);
    };
    e.on_event = [this, &e](const Event& event) { on_event(e, event); };
    e.on_gap = [this, &e] {
      if (flows_.empty() || couple_of(e).dead) return;
      Flow& flow = *flows_[below(flows_.size())];
      if (&flow.to() == &e && flow.posted_bytes() < kBytesMost / kFlowsMost) flow.post_receive();
      if (&flow.from() == &e && flow.posted_bytes() < kBytesMost / kFlowsMost) flow.post_send();
    };
    if (trace_) e.on_frame = [this](const std::string& what) { say(what); };
    e.on_segment = [this, &e](const protocol::FrameHeader& h) { on_segment(e, h); };
  }
  c.eager_limit_bytes = std::min(limits[0], limits[1]);
  const std::size_t count = 1 + below(4);
  for (std::size_t i = 0; i < count; ++i) {
    if (!links_.empty() && chance(0.2)) {
      c.links.push_back(links_[below(links_.size())]);  // shared with another session
    } else {
      wire::LinkSpec spec;
      spec.name = "link" + std::to_string(links_.size());
      spec.rate = Rate::from_megabits(between(50, 20'000));
      spec.delay = Nanos(std::int64_t(between(2e3, 2e6)));
      spec.queue_bytes = std::size_t(between(8e3, 1e6));
      spec.send_buffer_bytes = std::size_t(between(4e3, 1e6));
      spec.receive_buffer_bytes = std::size_t(between(4e3, 1e6));
      spec.piece_bytes = std::size_t(between(500, 32e3));
      spec.pause_probability = chance(0.5) ? 0 : between(0.001, 0.1);
      spec.pause_most = Nanos(std::int64_t(between(1e4, 5e6)));
      c.links.push_back(links_.emplace_back(&net_.add_link(spec)));
    }
    for (std::uint64_t k = 1 + below(2); k > 0; --k) make_lane(c, *c.links.back(), up_to(100us), up_to(100us));
  }
}

// Each end adds the lane at a time of its own; a lane that died meanwhile as well.
void World::make_lane(Couple& c, wire::SimLink& link, Nanos delay_a, Nanos delay_b) {
  const LaneId id = c.next_lane++;
  c.lanes.push_back({id, &link});
  const int rail = int(std::ranges::find(c.links, &link) - c.links.begin());
  auto lanes = net_.connect(link, wire::Placement::ask);
  const auto add = [&](SessionEnd& end, Nanos delay, std::unique_ptr<wire::SimLane> its_lane) {
    coming_.push_back(std::move(its_lane));
    net_.after(delay, [this, id, rail, e = &end, place = &coming_.back()] {
      if (couple_of(*e).dead) return;  // as engines do: no lane joins a session that is over
      say(e->name() + ": lane " + std::to_string(id) + " over rail " + std::to_string(rail) + ", " + (*place)->link().spec().name);
      e->add_lane(id, rail, rail, std::move(*place));
    });
  };
  add(*c.a, delay_a, std::move(lanes.first));
  add(*c.b, delay_b, std::move(lanes.second));
}

void World::make_flow() {
  Couple& c = any_couple();
  if (flows_.size() >= kFlowsMost || c.dead) return;
  const bool forth = chance(0.5);
  SessionEnd &from = forth ? *c.a : *c.b, &to = forth ? *c.b : *c.a;
  const Flow::Manners manners{c.eager_limit_bytes, heavy_ ? 1500 * KiB : 60 * KiB, weather_.rude};
  flows_.push_back(std::make_unique<Flow>(int(flows_.size()), from, to, memory_, manners, random_(), [this](const std::string& what) { fail(what); }));
  Flow& flow = *flows_.back();
  flow.open(Class(below(3)), chance(0.7) ? ~0ull : 1 + below(15));
  if (weather_.rude && chance(0.1)) net_.after(up_to(2ms), [&flow] { flow.close_sender(); });  // perhaps not open yet
}

// --------------------------------------------------------------------------------------------------- what is reported

void World::on_event(SessionEnd& end, const Event& event) {
  switch (event.kind) {
    case Event::Kind::incoming: {
      Flow& flow = *flows_.at(event.listener);
      if (&flow.to() != &end) return fail(end.name() + ": a stream for somebody else came in");
      const bool accept = !weather_.refusals || !chance(0.1);
      const std::uint64_t rails = chance(0.8) ? ~0ull : 1 + below(15);
      net_.after(up_to(500us), [this, &flow, id = event.stream, accept, rails] {
        if (couple_of(flow.to()).dead) return;
        flow.on_incoming(id, accept, rails);
        if (weather_.rude && chance(0.05)) flow.close_receiver();  // its CLOSE may overtake its OPENED
      });
      return;
    }
    case Event::Kind::opened:
      for (const auto& flow : flows_)
        if (&flow->from() == &end && flow->id() == event.stream) return flow->on_opened(event.status);
      return fail(end.name() + ": a stream was opened that nobody asked for");
    case Event::Kind::lane_condemned: return say(end.name() + ": lane " + std::to_string(event.lane) + " condemned");
    case Event::Kind::goodbye: return;
  }
}

void World::on_segment(SessionEnd& end, const protocol::FrameHeader& h) {
  for (const auto& flow : flows_)
    if (&flow->to() == &end && flow->id() == h.stream) return flow->on_segment(h);
}

// ----------------------------------------------------------------------------------------------------------- trouble

void World::act() {
  if (chance(0.08)) make_flow();
  if (!flows_.empty()) {
    Flow& flow = *flows_[below(flows_.size())];
    if (flow.posted_bytes() < kBytesMost / kFlowsMost)
      for (std::uint64_t n = below(10); n > 0; --n) flow.post_send();
    Flow& another = *flows_[below(flows_.size())];
    for (std::uint64_t n = below(12); n > 0 && another.posted_bytes() < kBytesMost / kFlowsMost; --n) another.post_receive();
  }
  if (weather_.ends_sleep && chance(0.05)) {
    Couple& c = any_couple();
    (chance(0.5) ? c.a : c.b)->sleep_until(net_.now() + up_to(10ms));
  }
  if (weather_.lanes_die && chance(0.15)) trouble_lanes();
  if (weather_.rude && chance(0.05)) trouble_flows();
}

void World::trouble_lanes() {
  Couple& c = any_couple();
  wire::SimLink& link = *c.links[below(c.links.size())];
  switch (below(6)) {
    case 0:
      say(link.spec().name + " cut");
      link.cut();
      return;
    case 1: return silence(link);
    case 2: link.set_rate(Rate::from_megabits(between(20, 10'000))); return;
    case 3: {  // one end gives up a lane that works
      if (c.lanes.empty()) return;
      const LaneId id = c.lanes[below(c.lanes.size())].id;
      SessionEnd& end = *(chance(0.5) ? c.a : c.b);
      say(end.name() + ": gives up lane " + std::to_string(id));
      if (end.has_lane(id)) end.give_up(id);
      return;
    }
    default:
      link.restore();
      make_lane(c, link, up_to(chance(0.2) ? 20ms : 200us), up_to(chance(0.2) ? 20ms : 200us));
  }
}

// Each end notices in its own time and gives the lanes up; or the link comes back first, with all that was under way.
void World::silence(wire::SimLink& link) {
  say(link.spec().name + " silent");
  link.silence();
  for (Couple& c : couples_)
    for (const LaneMade& lane : c.lanes)
      if (lane.link == &link)
        for (SessionEnd* end : {c.a.get(), c.b.get()})
          if (chance(0.7))
            net_.after(up_to(30ms), [this, end, id = lane.id] {
              if (faults_over_ || !end->has_lane(id)) return;
              say(end->name() + ": gives up silent lane " + std::to_string(id));
              end->give_up(id);
            });
  net_.after(up_to(40ms), [this, &link] {
    say(link.spec().name + " speaks again");
    link.resume();
  });
}

void World::trouble_flows() {
  if (flows_.empty()) return;
  Flow& flow = *flows_[below(flows_.size())];
  say("trouble for " + flow.state());
  switch (below(4)) {
    case 0: return flow.close_sender();
    case 1: return flow.close_receiver();
    case 2: return flow.withdraw_sender();
    default: return flow.withdraw_receiver();
  }
}

// ------------------------------------------------------------------------------------------------------------ running

bool World::go_on() { return failure_.empty() && net_.step(); }

void World::run_for(Nanos time) {
  const TimePoint end = net_.now() + time;
  bool over = false;
  net_.at(end, [&over] { over = true; });
  while (!over && go_on()) {
  }
}

void World::run_until(const std::function<bool()>& done, const char* what) {
  std::uint64_t seen = ~0ull;
  TimePoint moved = net_.now();
  while (failure_.empty() && !done()) {
    const std::uint64_t progress = bytes_consumed() + completions_;
    if (progress != seen) moved = net_.now();
    seen = progress;
    if (net_.now() - moved > kStandstill) {
      std::string states;
      for (const auto& flow : flows_)
        if (!flow->settled()) states += "\n  " + flow->state();
      for (const Couple& c : couples_) states += "\n  " + c.a->state() + "\n  " + c.b->state();
      return fail(std::string("stuck: ") + what + states);
    }
    run_for(1ms);
  }
}

void World::heal() {
  faults_over_ = true;
  for (wire::SimLink* link : links_) {
    if (link->is_silent()) link->resume();
    link->restore();
  }
  run_for(60ms);  // lanes on their way, sleepers, ends that do not know yet what they lost
  for (Couple& c : couples_) {
    const bool connected = std::ranges::any_of(c.lanes, [&](const LaneMade& l) { return c.a->has_lane(l.id) && c.b->has_lane(l.id); });
    if (!connected) make_lane(c, *c.links[0], up_to(1ms), up_to(1ms));
  }
}

bool World::settled() {
  bool all = true;
  for (const auto& flow : flows_) {
    flow->even_out();
    all = all && flow->settled();
  }
  return all;
}

void World::settle() {
  heal();
  run_until([this] { return settled(); }, "requests that never end");
}

// The peer is gone for good: everything ends, once.
void World::kill_a_session() {
  Couple& c = any_couple();
  c.dead = true;
  for (const auto& flow : flows_)
    if (&flow->from() == c.a.get() || &flow->from() == c.b.get()) flow->session_died();
  for (SessionEnd* end : {c.a.get(), c.b.get()}) {
    for (const LaneMade& lane : c.lanes)
      if (end->has_lane(lane.id)) end->give_up(lane.id);
    end->session().fail(Status(Code::remote, Scope::session, "the peer died"));
    end->touch();
    run_for(up_to(2ms));
  }
  run_for(1ms);
  for (const auto& flow : flows_)
    if (couple_of(flow->from()).dead && !flow->settled()) fail("the session died, but not all requests ended: " + flow->state());
}

// New lanes for old: fences settle what the old ledgers still hold.
void World::renew_lanes() {
  for (Couple& c : couples_) {
    if (c.dead) continue;
    const std::size_t before = c.lanes.size();
    make_lane(c, *c.links[0], up_to(1ms), up_to(1ms));
    run_for(2ms);
    for (std::size_t i = 0; i < before; ++i)
      for (SessionEnd* end : {c.a.get(), c.b.get()})
        if (end->has_lane(c.lanes[i].id)) end->give_up(c.lanes[i].id);
  }
  run_for(100ms);
}

bool World::all_forgotten() const {
  return std::ranges::all_of(couples_, [](const Couple& c) {
    const auto empty = [](SessionEnd& end) { return end.session().send_streams() + end.session().recv_streams() == 0; };
    return c.dead || (empty(*c.a) && empty(*c.b));
  });
}

void World::end_all() {
  if (chance(0.1)) kill_a_session();
  for (const auto& flow : flows_) {
    chance(0.5) ? flow->close_sender() : flow->close_receiver();
    run_for(up_to(1ms));
    flow->end();
  }
  run_until([this] { return std::ranges::all_of(flows_, [](const auto& f) { return f->settled(); }); }, "requests of closed streams");
  for (int i = 0; i < 6 && failure_.empty() && !all_forgotten(); ++i) renew_lanes();
  if (!failure_.empty() || all_forgotten()) return;
  std::string left;
  for (const Couple& c : couples_)
    for (SessionEnd* end : {c.a.get(), c.b.get()})
      left += " " + end->name() + " " + std::to_string(end->session().send_streams()) + "+" + std::to_string(end->session().recv_streams());
  fail("streams that are never forgotten (sending+receiving):" + left);
}

std::string World::run() {
  weather_ = {chance(0.75), chance(0.3), chance(0.6), chance(0.3)};
  heavy_ = chance(0.1);
  for (std::uint64_t n = chance(0.7) ? 1 : 2 + below(2); n > 0; --n) make_couple();
  run_for(1ms);
  for (std::uint64_t n = 1 + below(4); n > 0; --n) make_flow();
  const Nanos pause = Nanos(std::int64_t(between(1e3, 3e6)));
  for (std::uint64_t n = 20 + below(150); n > 0 && failure_.empty(); --n) {
    act();
    run_for(up_to(pause));
  }
  if (failure_.empty()) settle();
  if (failure_.empty()) end_all();
  for (const Couple& c : couples_)
    for (SessionEnd* end : {c.a.get(), c.b.get()})
      if (!c.dead && !end->session().error().ok()) fail(end->name() + ": the session failed: " + end->session().error().message());
  if (const std::string wrong = memory_.check(); !wrong.empty()) fail(wrong);
  return failure_;
}

}  // namespace railweave::sim
