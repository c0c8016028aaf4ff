#include "tests/sim/day_world.h"

#include <algorithm>

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kDayHosts = 64;
constexpr double kMore = 1.1;          // than the plan asks for, as hosts are down at times
constexpr Nanos kSilenceMost = 900ms;  // between two bursts of a line
constexpr double kOwedMost = 500;
constexpr Nanos kKeepEvery = 200ms;
// flows and sessions that are over: by then none of their frames is under way
constexpr Nanos kRememberedFor = 5s;
constexpr Nanos kSparedFor = 1h, kSparedLeast = 5min;
constexpr Nanos kCalm = 90s;  // longer than any backoff after faults, by the slowest clock
constexpr std::size_t kFlowsMost = 40 * kDayHosts;

}  // namespace

DayWorld::DayWorld(std::uint64_t seed, bool trace, const Plan& plan) : World(seed, trace), plan_(plan) {
  weather_ = {.lanes_die = true,
              .ends_sleep = true,
              .rude = false,
              .refusals = false,
              .mortal = true,
              .spared = true,
              .lasting = true};
  peer_timeout_ = 5s;
}

void DayWorld::make_all() {
  for (std::size_t i = 0; i < kDayHosts; ++i) {
    Host& host = add_host("host" + std::to_string(i));
    host.clock.speed = between(0.7, 1.5);
    for (int rails = 0; rails < (i % 4 == 0 ? 3 : 2); ++rails) add_rail(host, rails == 0);
  }
  for (std::size_t i = 0; i < kDayHosts; ++i) make_couple(hosts_[i], hosts_[(i + 1) % kDayHosts]);
  finished_since_.assign(couples_.size(), TimePoint::max());
  down_until_.resize(kDayHosts);
  segments_.resize(kDayHosts);
  for (Couple& c : couples_)
    for (const bool forth : {true, false}) lines_.push_back({.couple = &c, .forth = forth});
}

std::string DayWorld::run_day(const std::function<void()>& every_second) {
  make_all();
  for (Line& line : lines_) net_.after(up_to(kSilenceMost), [this, &line] { speak(line); });
  for (std::size_t f = 0; f < kFaults; ++f) trouble_comes(Fault(f));
  net_.after(kKeepEvery, [this] { keep(); });
  const TimePoint end = net_.now() + plan_.length;
  TimePoint spared_until = net_.now() + std::max<Nanos>(std::min<Nanos>(kSparedFor, plan_.length / 4), kSparedLeast);
  while (failure_.empty() && net_.now() < end) {
    run_for(1s);
    every_second();
    if (net_.now() < spared_until) continue;
    spared_until = net_.now() + std::max<Nanos>(std::min<Nanos>(kSparedFor, plan_.length / 4), kSparedLeast);
    spare(1 - spared_rail_);
  }
  over_ = true;
  if (failure_.empty()) settle();
  if (failure_.empty()) end_all();
  for (const Couple& c : couples_) count_segments(c);
  return verdict();
}

// Begins a calm without faults of rails, in the middle of which `rail` becomes the spared one.
void DayWorld::spare(int rail) {
  say("calm: rail " + std::to_string(rail) + " is spared from now on");
  rails_back_off_until_ = net_.now() + kCalm;
  net_.after(kCalm / 2, [this, rail] {
    spared_rail_ = rail;
    for (Host& host : hosts_)
      for (std::size_t i = 0; i < host.rails.size(); ++i) host.rails[i].spared = int(i) == rail;
  });
  std::vector<std::string> sessions;
  for (const Couple& c : couples_) sessions.push_back(c.a->name());
  net_.after(kCalm, [this, sessions = std::move(sessions)] { end_calm(sessions); });
}

// Checks that each rail has a lane by now, at both ends of each session that existed during the whole calm.
void DayWorld::end_calm(const std::vector<std::string>& sessions) {
  for (std::size_t i = 0; i < couples_.size() && !over_; ++i) {
    const Couple& c = couples_[i];
    if (c.dead || c.a->name() != sessions[i]) continue;
    for (SessionEnd* end : {c.a.get(), c.b.get()}) {
      const auto open = end->open_lanes();
      for (const HostRail& rail : end->host().rails)
        if (std::ranges::none_of(open, [&](const auto& lane) { return lane.link == rail.link; }))
          return fail(end->name() + ": no lane over " + rail.link->spec().name + ", though nothing ails it");
    }
  }
}

// ----------------------------------------------------------------------------------------------------------- speaking

// Posts what the last burst left over, then a burst, receives before or after sends.
void DayWorld::speak(Line& line) {
  if (over_) return;
  const Nanos pause = 1ms + up_to(kSilenceMost);
  net_.after(pause, [this, &line] { speak(line); });
  if (line.couple->dead) return;
  if (line.flow == nullptr || line.flow->over()) open(line);
  Flow& flow = *line.flow;
  flow.even_out();
  // Half of what its host sends: a host has two lines.
  line.owed = std::min(kOwedMost, line.owed + double(pause.count()) / 1e9 * plan_.segments_per_second / 2 * kMore);
  const auto receive = [&] {
    for (int i = 0; i < int(line.owed) && flow.post_receive(); ++i) {
    }
  };
  const bool early = chance(0.5), late = !early && chance(0.5);
  if (early) receive();
  const int most = int(line.owed);
  for (int i = 0; i < most && flow.post_send(); ++i) --line.owed;
  if (late) flow.even_out();
  if (chance(0.03)) flow.expedite();
}

void DayWorld::open(Line& line) {
  Couple& c = *line.couple;
  if (line.flow != nullptr) line.flow->end();
  SessionEnd &from = line.forth ? *c.a : *c.b, &to = line.forth ? *c.b : *c.a;
  const Flow::Manners manners{
      .eager_limit_bytes = c.eager_limit_bytes, .size_most = 60 * KiB, .small = true, .ordered = chance(0.5)};
  const int number = flows_ever_++;
  flows_.push_back(std::make_unique<Flow>(number, from, to, memory_, manners, random_(),
                                          [this](const std::string& what) { fail(what); }));
  line.flow = flows_.back().get();
  watched_.push_back({line.flow, {.moved = net_.now()}});
  c.flows.push_back(line.flow);
  if (std::exchange(line.refused_next, false)) refused_.push_back(number);
  line.flow->open(Priority(below(3)), chance(0.7) ? ~0ull : 1 + below(15));
}

bool DayWorld::accepts(const Flow& flow) { return std::erase(refused_, flow.number()) == 0; }

// ------------------------------------------------------------------------------------------------------------ keeping

void DayWorld::keep() {
  if (over_) return;
  net_.after(kKeepEvery, [this] { keep(); });
  keep_flows();
  keep_hosts();
}

// Checks that no flow stands still, and forgets flows that are over.
void DayWorld::keep_flows() {
  const TimePoint t = net_.now();
  const Nanos standstill = 3 * peer_timeout_ + 10s;
  std::vector<const Flow*> forgotten;
  for (auto& [flow, watch] : watched_) {
    if (watch.ended != flow->ended() || flow->settled()) watch.moved = t;
    watch.ended = flow->ended();
    if (t - watch.moved > standstill) return fail("stuck: " + flow->state());
    if (!flow->over() || !flow->settled()) watch.over_since = t;
    const bool follower =
        std::ranges::none_of(lines_, [&, flow = flow](const Line& line) { return line.flow == flow; });
    if (follower && t - watch.over_since > kRememberedFor) forgotten.push_back(flow);
  }
  for (Couple& c : couples_)
    if (!c.dead)
      std::erase_if(c.flows, [&](const Flow* f) { return std::ranges::find(forgotten, f) != forgotten.end(); });
  std::erase_if(forgotten, [&](const Flow* f) {
    return std::ranges::any_of(couples_,
                               [&](const Couple& c) { return std::ranges::find(c.flows, f) != c.flows.end(); });
  });
  if (forgotten.empty()) return;
  std::erase_if(watched_, [&](const auto& w) { return std::ranges::find(forgotten, w.first) != forgotten.end(); });
  std::erase_if(flows_, [&](const auto& f) {
    const bool is = std::ranges::find(forgotten, f.get()) != forgotten.end();
    if (is) f->give_back_memory();
    return is;
  });
  if (flows_.size() > kFlowsMost) fail("streams pile up");
}

bool DayWorld::finished(const Couple& c) {
  const auto ended = [](SessionEnd& end) {
    return end.over() || (!end.host().lives() && end.host().fate != Host::Fate::leaves);
  };
  return ended(*c.a) && ended(*c.b) && std::ranges::all_of(c.flows, [](const Flow* f) { return f->settled(); });
}

// A host comes back when its sessions have finished. A couple that finished gets a new session when both its hosts
// live.
void DayWorld::keep_hosts() {
  const TimePoint t = net_.now();
  for (std::size_t i = 0; i < couples_.size(); ++i) {
    TimePoint& since = finished_since_[i];
    since = couples_[i].dead && finished(couples_[i]) ? std::min(since, t) : TimePoint::max();
  }
  const auto gone = [&](std::size_t couple) { return finished_since_[couple] < t - kRememberedFor; };
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = hosts_[i];
    if (host.lives() || t < down_until_[i] || !gone(i) || !gone((i + kDayHosts - 1) % kDayHosts)) continue;
    say(host.name + " is there again");
    host.fate = Host::Fate::lives;
    for (HostRail& rail : host.rails) {
      rail.link_down = false;
      host.announced[std::size_t(&rail - host.rails.data())].link_down = false;
      rail.link->restore();
      rail.link->set_rate(rail.rate);
      rail.link->resume();
    }
  }
  for (std::size_t i = 0; i < couples_.size(); ++i)
    if (gone(i) && couples_[i].a->host().lives() && couples_[i].b->host().lives()) renew(couples_[i]);
}

void DayWorld::renew(Couple& c) {
  count_segments(c);
  Host &a = c.a->host(), &b = c.b->host();
  c.keeping.reset();
  c.a.reset();
  c.b.reset();
  for (Flow* flow : std::exchange(c.flows, {})) {
    flow->give_back_memory();
    std::erase_if(watched_, [&](const auto& w) { return w.first == flow; });
    std::erase_if(flows_, [&](const auto& f) { return f.get() == flow; });
  }
  for (Line& line : lines_)
    if (line.couple == &c) line.flow = nullptr, line.refused_next = false;
  c.dead = false;
  join(c, a, b);
}

// ------------------------------------------------------------------------------------------------------------ figures

std::size_t DayWorld::number_of(const Host& host) const {
  return std::size_t(std::ranges::find_if(hosts_, [&](const Host& h) { return &h == &host; }) - hosts_.begin());
}

void DayWorld::count_segments(const Couple& c) {
  for (SessionEnd* end : {c.a.get(), c.b.get()}) segments_[number_of(end->host())] += end->segments_taken();
}

std::uint64_t DayWorld::segments() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : segments_) sum += n;
  return sum;
}

std::string DayWorld::books() const {
  std::size_t streams = 0, lanes = 0, open = 0;
  for (const Couple& c : couples_) {
    for (SessionEnd* end : {c.a.get(), c.b.get()}) {
      streams += end->session().send_streams() + end->session().recv_streams();
      lanes += end->session().known_lanes();
      open += end->open_lanes().size();
    }
  }
  return std::to_string(streams) + " streams of " + std::to_string(flows_.size()) + " flows, " + std::to_string(lanes) +
         " lanes, " + std::to_string(open) + " open";
}

std::uint64_t DayWorld::fewest_segments() const { return *std::ranges::min_element(segments_); }

}  // namespace railweave::sim
