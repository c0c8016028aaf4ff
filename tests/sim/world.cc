#include "tests/sim/world.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;
using protocol::Event;
using protocol::LaneId;

constexpr std::size_t kHostsMost = 256;
constexpr Nanos kEndingMost = 5ms;               // until a wire lets go of a lane
constexpr Nanos kRenewal = 60ms;                 // enough to dial a lane and make both its ends
constexpr std::size_t kLanesForgottenLate = 64;  // lost lanes that a session may still know
constexpr Nanos kDenialMost = 4s;                // 1.5 s asleep, then a backoff of 1.25 s by a slow clock

}  // namespace

World::World(std::uint64_t seed, bool trace) : seed_(seed), trace_(trace), random_(seed), net_(seed) {}

// Ends all processes, so that nothing is reported any more.
World::~World() {
  for (Couple& c : couples_) c.a->die(true), c.b->die(true);
}

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

// ------------------------------------------------------------------------------------------------------------ making

void World::make_hosts() {
  const double size = double(random_() >> 11) * 0x1p-53;
  const std::size_t count = size < 0.75    ? 2
                            : size < 0.92  ? 3 + below(2)
                            : size < 0.99  ? 5 + below(12)
                            : size < 0.998 ? 17 + below(48)
                                           : kHostsMost;
  const bool skewed = chance(0.5);
  for (std::size_t i = 0; i < count; ++i) {
    Host& host = add_host("host" + std::to_string(i));
    host.clock.speed = skewed ? between(0.7, 1.5) : 1 + 2e-4 * (double(below(1000)) / 1000 - 0.5);
    for (std::size_t k = 1 + below(count > 16 ? 2 : 4); k > 0; --k) {
      add_rail(host, weather_.spared && host.rails.empty());
    }
  }
  // A ring, and a few sessions between hosts chosen by chance.
  for (std::size_t i = 0; i < (count == 2 ? 1 : count); ++i) make_couple(hosts_[i], hosts_[(i + 1) % count]);
  for (std::uint64_t n = chance(0.8) ? 0 : 1 + below(std::min<std::uint64_t>(count, 8)); n > 0; --n) {
    const std::size_t i = below(count);
    make_couple(hosts_[i], hosts_[(i + 1 + below(count - 1)) % count]);
  }
  flows_most_ = 10 + 2 * couples_.size();
}

Host& World::add_host(const std::string& name) {
  Host& host = hosts_.emplace_back();
  host.name = name;
  host.number = int(hosts_.size()) - 1;
  return host;
}

void World::add_rail(Host& host, bool spared) {
  wire::LinkSpec spec;
  spec.name = host.name + ".rail" + std::to_string(host.rails.size());
  spec.rate = Rate::from_megabits(between(50, 20'000));
  spec.delay = Nanos(std::int64_t(between(1e3, 1e6)));
  spec.queue_bytes = std::size_t(between(8e3, 250e3));
  spec.send_buffer_bytes = std::size_t(between(4e3, 1e6));
  spec.receive_buffer_bytes = std::size_t(between(4e3, 1e6));
  spec.piece_bytes = std::size_t(between(500, 32e3));
  spec.pause_probability = chance(0.5) ? 0 : between(0.001, 0.1);
  spec.pause_most = Nanos(std::int64_t(between(1e4, 5e6)));
  spec.ending_most = chance(0.5) ? Nanos(0) : Nanos(kEndingMost);
  host.add_rail({.link = &net_.add_link(spec), .rate = spec.rate, .spared = spared});
}

std::unique_ptr<SessionEnd> World::make_end(Couple& c, Host& host, const std::string& name,
                                            std::size_t eager_limit_bytes) {
  const protocol::SessionOptions options{.eager_limit_bytes = eager_limit_bytes};
  auto end = std::make_unique<SessionEnd>(net_, memory_, name, host, options, peer_timeout_, random_(),
                                          [this](const std::string& what) { fail(what); });
  watch_end(c, *end);
  for (std::size_t rail = 0; rail < host.rails.size(); ++rail)
    if (host.rails[rail].link_down) end->set_link(int(rail), false);
  return end;
}

void World::watch_end(Couple& c, SessionEnd& e) {
  e.on_pumped = [this, &c, &e] {
    for (Flow* flow : c.flows) completions_ += flow->collect(e);
  };
  e.on_event = [this, &c, &e](const Event& event) { on_event(c, e, event); };
  e.watch().on_gap = [&c, &e, this] {
    if (c.flows.empty() || c.dead) return;
    Flow& flow = *c.flows[below(c.flows.size())];
    if (flow.posted_bytes() < 400 * KiB) &flow.to() == &e ? flow.post_receive() : flow.post_send();
  };
  if (trace_) e.watch().on_trace = [this](const std::string& what) { say(what); };
  e.watch().on_frame = [this, &c, &e](SessionEnd::Passing passing, const protocol::FrameHeader& h) {
    on_frame(c, e, passing, h);
  };
  e.on_acks_waived = [&c, &e] {
    for (Flow* flow : c.flows)
      if (&flow->to() == &e) flow->acks_waived();
  };
  e.watch().sending_streams = [&c, &e] {
    std::vector<const protocol::SendStream*> streams;
    for (Flow* flow : c.flows)
      if (&flow->from() == &e && flow->sending() != nullptr) streams.push_back(flow->sending());
    return streams;
  };
  e.on_over = [this, &c, &e](const Status& why) { on_over(c, e, why); };
}

void World::make_couple(Host& a, Host& b) {
  static constexpr std::size_t kEagerLimits[] = {0, 100, 16 * KiB, 64 * KiB};
  Couple& c = couples_.emplace_back();
  c.eager_limits_bytes = {kEagerLimits[below(4)], kEagerLimits[below(4)]};
  c.lanes_per_pair = int(1 + below(2));
  join(c, a, b);
}

void World::join(Couple& c, Host& a, Host& b) {
  const std::string number = std::to_string(++joined_);
  c.eager_limit_bytes = std::min(c.eager_limits_bytes[0], c.eager_limits_bytes[1]);
  c.a = make_end(c, a, "a" + number, c.eager_limits_bytes[0]);
  c.b = make_end(c, b, "b" + number, c.eager_limits_bytes[1]);
  c.told_by_a = std::make_unique<RailTalk>(*c.a, *c.b, [this](const std::string& what) { fail(what); });
  c.told_by_b = std::make_unique<RailTalk>(*c.b, *c.a, [this](const std::string& what) { fail(what); });
  c.b->on_lane_begins = [&c, this](protocol::LaneId lane) {
    if (!c.a->had_lane(lane))
      fail(c.b->name() + ": lane " + std::to_string(lane) + " stands here alone, its dialler never had it");
  };
  c.keeping = std::make_unique<LaneKeeping>(net_, *c.a, *c.b, c.lanes_per_pair, logged_absences_);
  c.told_by_a->on_state = [&c](int rail, const engine::PeerRail& is) {
    if (c.keeping) c.keeping->on_peer_rail(*c.b, rail, is);
  };
  c.told_by_b->on_state = [&c](int rail, const engine::PeerRail& is) {
    if (c.keeping) c.keeping->on_peer_rail(*c.a, rail, is);
  };
  c.keeping->begin(spared_rail_);
}

void World::make_flow() {
  Couple& c = any_couple();
  if (flows_.size() >= flows_most_ || c.dead) return;
  const bool forth = chance(0.5);
  SessionEnd &from = forth ? *c.a : *c.b, &to = forth ? *c.b : *c.a;
  const Flow::Manners manners{.eager_limit_bytes = c.eager_limit_bytes,
                              .size_most = heavy_ ? 1500 * KiB : 60 * KiB,
                              .may_truncate = weather_.rude,
                              .ordered = chance(0.5)};
  flows_.push_back(std::make_unique<Flow>(int(flows_.size()), from, to, memory_, manners, random_(),
                                          [this](const std::string& what) { fail(what); }));
  Flow& flow = *flows_.back();
  c.flows.push_back(&flow);
  flow.open(Priority(below(3)), chance(0.7) ? ~0ull : 1 + below(15));
  if (weather_.rude && chance(0.1)) net_.after(up_to(2ms), [&flow] { flow.close_sender(); });  // perhaps not open yet
}

// ---------------------------------------------------------------------------------------------------- what ends report

void World::on_event(Couple& c, SessionEnd& end, const Event& event) {
  switch (event.kind) {
    case Event::Kind::incoming: {
      const auto listens = [&](Flow* f) { return &f->to() == &end && std::uint64_t(f->number()) == event.listener; };
      const auto found = std::ranges::find_if(c.flows, listens);
      if (found == c.flows.end()) return fail(end.name() + ": a stream for somebody else came in");
      Flow& flow = **found;
      const bool accept = accepts(flow);
      const std::uint64_t rails = chance(0.8) ? ~0ull : 1 + below(15);
      net_.after(up_to(500us), [this, &end, &flow, id = event.stream, accept, rails] {
        if (end.over() || end.says_goodbye()) return;
        flow.on_incoming(id, accept, rails);
        if (weather_.rude && chance(0.05)) flow.close_receiver();  // its CLOSE may overtake its OPENED
      });
      return;
    }
    case Event::Kind::opened:
      for (Flow* flow : c.flows)
        if (&flow->from() == &end && flow->id() == event.stream) return flow->on_opened(event.status);
      return fail(end.name() + ": a stream was opened that nobody asked for");
    case Event::Kind::lane_failed_by_peer:
      return say(end.name() + ": lane " + std::to_string(event.lane) + " failed by the peer");
    case Event::Kind::overridden:
      return say(end.name() + ": the receiver lets nothing go by lane " + std::to_string(event.lane));
    case Event::Kind::rails_announced: return (&end == c.a.get() ? *c.told_by_b : *c.told_by_a).apply();
    case Event::Kind::lane_retired: return say(end.name() + ": lane " + std::to_string(event.lane) + " retired");
    case Event::Kind::goodbye: return say(end.name() + ": the peer said goodbye");
  }
}

void World::on_frame(Couple& c, SessionEnd& end, SessionEnd::Passing passing, const protocol::FrameHeader& h) {
  using protocol::FrameType;
  if (checks_control_) note_control(c, end, passing, h);
  if (h.type == FrameType::fence || h.type == FrameType::goodbye || h.type == FrameType::keep ||
      h.type == FrameType::rails || h.type == FrameType::retire || h.type == FrameType::window)
    return;
  const bool ours = passing == SessionEnd::Passing::taken || passing == SessionEnd::Passing::written;
  const bool we_receive = ours == ((h.flags & protocol::kFlagFromReceiver) != 0);
  for (Flow* flow : c.flows) {
    if (&(we_receive ? flow->to() : flow->from()) != &end || flow->id() != h.stream) continue;
    return flow->on_frame(end, passing, h);
  }
}

void World::note_control(Couple& c, SessionEnd& end, SessionEnd::Passing passing, const protocol::FrameHeader& h) {
  const bool of_a = &end == c.a.get();
  if (passing == SessionEnd::Passing::taken) (of_a ? c.control_of_a : c.control_of_b).stated(h, net_.now());
  if (passing == SessionEnd::Passing::consumed) (of_a ? c.control_of_b : c.control_of_a).heard(h);
}

// The engine would fail the session now. It may do so if a host or the other end is gone; else only if lanes die and no
// rail is spared.
void World::on_over(Couple& c, SessionEnd& end, const Status& why) {
  if (end.over()) return;
  SessionEnd& other = &end == c.a.get() ? *c.b : *c.a;
  say(end.name() + ": over: " + why.message());
  const bool excused =
      !other.host().lives() || !end.host().lives() || other.over() || end.session().peer_said_goodbye();
  if (!excused && (weather_.spared || !weather_.lanes_die))
    fail(end.name() + ": the session ends, though a rail is left: " + why.message());
  const bool in_peace = end.session().peer_said_goodbye();
  for (Flow* flow : c.flows)
    if (!in_peace || !flow->left_in_peace()) flow->session_died();
  check_denial(c, end);
  c.dead = true;
  end.end_with(why);
  c.keeping->stop_soon(end);
}

// Checks that an end learns of a crash in time: the kernel of a crashed process refuses joins and peer probes.
void World::check_denial(const Couple& c, const SessionEnd& end) {
  if (weather_.lanes_die || c.crashed_at == TimePoint{} || net_.now() - c.crashed_at <= kDenialMost) return;
  fail(end.name() + ": that its peer's process is gone took too long, though the kernel there says so");
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
  // Clocks may be slow, and an end whose peer lost power notices by keepalive at the latest.
  const Nanos standstill = 3 * peer_timeout_ + 10s;
  std::uint64_t seen = ~0ull;
  TimePoint moved = net_.now();
  Nanos pause = 1ms;
  while (failure_.empty() && !done()) {
    std::uint64_t progress = completions_;
    for (const Couple& c : couples_) progress += c.a->bytes_moved() + c.b->bytes_moved();
    if (progress != seen) moved = net_.now();
    seen = progress;
    if (net_.now() - moved > standstill) {
      std::string states;
      for (const auto& flow : flows_)
        if (!flow->settled()) states += "\n  " + flow->state();
      for (const Couple& c : couples_) {
        if (couples_.size() < 5) states += "\n  " + c.a->state() + "\n  " + c.b->state();
        for (const RailTalk* talk : {c.told_by_a.get(), c.told_by_b.get()})
          if (!c.dead && !talk->heard_all()) states += "\n  " + talk->state();
      }
      return fail(std::string("stuck: ") + what + states);
    }
    run_for(pause);
    pause = std::min<Nanos>(2 * pause, 50ms);
  }
}

bool World::settled() {
  bool all = true;
  for (const auto& flow : flows_) {
    flow->even_out();
    all = all && flow->settled();
  }
  for (const Couple& c : couples_) all = all && (c.dead || (c.told_by_a->heard_all() && c.told_by_b->heard_all()));
  return all;
}

// Half of the worlds with a spared rail keep their faults for good: requests must end though the other rails are cut,
// silent or slow.
void World::settle() {
  if (weather_.spared && chance(0.5)) {
    faults_over_ = true;
    say("what ails rails now stays");
    run_until([this] { return settled(); }, "requests that never end, though a rail is left");
  }
  heal();
  run_until([this] { return settled(); }, "requests that never end");
}

// Both ends of each session give up all lanes, and the dialling end makes new ones: fences settle what the old ledgers
// still hold.
void World::renew_lanes() {
  std::vector<std::set<LaneId>> old;
  for (Couple& c : couples_) {
    old.emplace_back();
    if (c.dead) continue;
    c.keeping->retirement().all_serve_again();
    c.keeping->poll();
    for (SessionEnd* end : {c.a.get(), c.b.get()}) {
      for (const auto& lane : end->open_lanes()) {
        old.back().insert(lane.id);
        end->give_up(lane.id);
      }
    }
  }
  run_until([&] { return has_new_lanes(old); }, "sessions that get no new lanes");
  run_for(kRenewal);
  for (const Couple& c : couples_)
    for (SessionEnd* end : {c.a.get(), c.b.get()})
      if (!c.dead && end->session().known_lanes() > end->open_lanes().size() + kLanesForgottenLate)
        fail(end->name() + ": lanes that are lost are never forgotten");
  run_for(2 * kRenewal);
}

// Every end of a living session has lanes, and none of `old` (by couple).
bool World::has_new_lanes(const std::vector<std::set<LaneId>>& old) const {
  const auto has = [](const SessionEnd& end, const std::set<LaneId>& before) {
    const auto open = end.open_lanes();
    return !open.empty() && std::ranges::none_of(open, [&](const auto& lane) { return before.contains(lane.id); });
  };
  for (std::size_t k = 0; k < couples_.size(); ++k)
    if (const Couple& c = couples_[k]; !c.dead && (!has(*c.a, old[k]) || !has(*c.b, old[k]))) return false;
  return true;
}

bool World::all_forgotten() const {
  return std::ranges::all_of(couples_, [](const Couple& c) {
    const auto empty = [](SessionEnd& end) { return end.session().send_streams() + end.session().recv_streams() == 0; };
    return c.dead || (empty(*c.a) && empty(*c.b));
  });
}

// Senders post a last message and close. A message whose send was done by then must arrive, whichever lanes are lost.
void World::say_last_words() {
  for (const auto& flow : flows_) {
    if (flows_.size() >= 30 || flow->over() || !chance(0.5)) continue;
    if (flow->post_send()) flow->post_receive();
    run_for(up_to(300us));
    flow->close_sender();
    if (!weather_.lanes_die || !chance(0.5)) continue;
    run_for(up_to(300us));
    give_up_a_lane();
  }
  run_until([this] { return settled(); }, "the last messages of streams");
}

void World::end_all() {
  if (chance(0.1)) {
    end_host(hosts_[below(hosts_.size())], chance(0.5) ? Host::Fate::crashed : Host::Fate::leaves);
    run_until([this] { return settled(); }, "requests of a peer that is gone");
  }
  say_last_words();
  for (const auto& flow : flows_) {
    chance(0.5) ? flow->close_sender() : flow->close_receiver();
    if (flows_.size() < 30) run_for(up_to(1ms));
    flow->end();
  }
  run_until([this] { return std::ranges::all_of(flows_, [](const auto& f) { return f->settled(); }); },
            "requests of closed streams");
  for (int i = 0; i < 6 && failure_.empty() && !all_forgotten(); ++i) renew_lanes();
  if (!failure_.empty() || all_forgotten()) return;
  std::string left;
  for (const Couple& c : couples_)
    for (SessionEnd* end : {c.a.get(), c.b.get()})
      if (!c.dead)
        left += " " + end->name() + " " + std::to_string(end->session().send_streams()) + "+" +
                std::to_string(end->session().recv_streams());
  fail("streams that are never forgotten (sending+receiving):" + left);
}

std::string World::run() {
  if (swallows()) return run_swallowing();
  static constexpr Nanos kPeerTimeouts[] = {2s, 5s, 10s};
  weather_ = {chance(0.75), chance(0.3), chance(0.6), chance(0.3), chance(0.25), chance(0.7), chance(0.5)};
  heavy_ = chance(0.1);
  peer_timeout_ = kPeerTimeouts[below(3)];
  make_hosts();
  run_for(chance(0.2) ? Nanos(1ms) : kRenewal);
  for (std::uint64_t n = 1 + below(4) + couples_.size() / 2; n > 0; --n) make_flow();
  const Nanos pause = Nanos(std::int64_t(between(1e3, weather_.lasting ? 6e7 : 3e6)));
  for (std::uint64_t n = 20 + below(150) + 2 * couples_.size(); n > 0 && failure_.empty(); --n) {
    act();
    run_for(up_to(pause));
  }
  if (failure_.empty()) settle();
  if (failure_.empty()) end_all();
  return verdict();
}

std::string World::verdict() {
  for (const Couple& c : couples_)
    for (SessionEnd* end : {c.a.get(), c.b.get()})
      if (!end->over() && !end->session().error().ok())
        fail(end->name() + ": the session failed: " + end->session().error().message());
  for (const auto& flow : flows_) flow->check_ended();
  if (const std::string wrong = memory_.check(); !wrong.empty()) fail(wrong);
  return failure_;
}

}  // namespace railweave::sim
