#include "tests/sim/session_end.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "wire/overlap.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;
using protocol::LaneId;

constexpr Nanos kPaceLeast = 200us, kPaceMost = 20ms;   // between looks while something waits and nothing moves
constexpr Nanos kFarewellMost = 1s;
constexpr int kTurnsMax = 8;

}  // namespace

struct SessionEnd::Port final : wire::LaneHandler {
  Port(SessionEnd& owner, LaneId its_id, int its_local_rail, int its_remote_rail, std::unique_ptr<wire::SimLane> its_lane)
      : end(owner), id(its_id), local_rail(its_local_rail), remote_rail(its_remote_rail), lane(std::move(its_lane)) {}

  std::size_t next_frames(std::span<wire::OutFrame> frames) override {
    protocol::Session& s = end.session_;
    const TimePoint now = end.host_.clock.local(end.net_.now());
    if (s.wants_report(id, now)) {
      const wire::LaneHealth h = lane->health();
      s.report(id, now, {h.outstanding_bytes, h.acknowledged_bytes, h.min_rtt, h.smoothed_rtt});
    }
    std::array<protocol::OutgoingFrame, 16> next;
    const bool judged = end.one_at_a_time_ && s.has_data();
    if (judged) end.turns_.before(end.sending_streams());
    const std::size_t most = end.one_at_a_time_ ? 1 : std::min(frames.size(), next.size());
    const std::size_t n = s.next_frames(id, std::span(next).first(most), flush);
    if (judged && n > 0) end.turns_.after(next[0].header);
    for (std::size_t i = 0; i < n; ++i) {
      taken.push_back(next[i].header);
      if (end.zero_copy_) lent.push_back({next[i].header, next[i].payload, digest(next[i].payload)});
      end.segments_taken_ += next[i].header.type == protocol::FrameType::segment;
      end.on_frame(Passing::taken, next[i].header);
      protocol::encode(next[i].header, frames[i].header);
      frames[i].payload = next[i].payload;
      if (end.on_trace) end.on_trace(describe("takes", next[i].header));
    }
    frames_taken += n;
    if (frames_taken - peer_consumed > protocol::kLedgerFrames) (void)refused(Status(Code::system, Scope::lane, "more frames unanswered than the ledger holds"));
    return n;
  }
  void written(std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i, taken.pop_front()) end.on_frame(Passing::written, taken.front());
    end.session_.on_written(id, n);
  }
  void released(std::size_t n) override {
    if (!end.zero_copy_) return end.session_.on_released(id, n);
    const wire::LaneHealth h = lane->health();
    for (; n > 0; --n) lent[written_of_lent++].acknowledged_at = h.acknowledged_bytes + h.outstanding_bytes;
  }

  // The kernel says of what it sent from the caller's memory that it lets go: oldest first, not before the peer's has it.
  bool lets_go() const {
    return lane && written_of_lent > 0 && lent.front().acknowledged_at <= lane->health().acknowledged_bytes;
  }
  void let_go() {
    for (; lets_go(); --written_of_lent, lent.pop_front()) {
      check(lent.front());
      end.session_.on_released(id, 1);
    }
  }
  // The lane is about to be closed: until now the kernel might have sent any of it again.
  void close() {
    for (const Lent& l : lent) check(l);
    lent.clear();
    written_of_lent = 0;
    lane.reset();
  }

  Result<wire::Target> header(std::span<const std::byte, wire::kHeaderBytes> bytes) override {
    Result<std::span<std::byte>> where = end.session_.on_header(id, bytes);
    if (!where.ok()) return refused(where.status());
    place = *where;
    const protocol::FrameHeader h = protocol::decode(bytes).value();
    peer_consumed += std::uint32_t(h.consumed - std::uint32_t(peer_consumed));
    if (h.type == protocol::FrameType::segment && end.session_.lands(id, h.stream)) end.on_frame(Passing::met, h);
    if (end.random_() % 8 == 0) end.on_gap();
    if (const std::string wrong = end.memory_.landing(place); !wrong.empty()) end.fail_(end.name_ + ": " + wrong);
    return wire::Target{place};
  }
  Status consumed(std::span<const std::byte, wire::kHeaderBytes> bytes) override {
    const Result<protocol::FrameHeader> h = protocol::decode(bytes);
    if (end.on_trace) end.on_trace(describe("consumes", h.value()));
    const bool landed = h.value().type != protocol::FrameType::segment || end.session_.lands(id, h.value().stream);
    if (h.value().type == protocol::FrameType::segment) {
      if (const std::string wrong = end.memory_.landed(place); !wrong.empty()) end.fail_(end.name_ + ": " + wrong);
      end.bytes_consumed_ += h.value().length + wire::kHeaderBytes;
    }
    if (landed) end.on_frame(Passing::consumed, h.value());
    Status status = end.session_.on_consumed(id);
    return status.ok() ? status : refused(status);
  }
  std::string describe(const char* what, const protocol::FrameHeader& h) const {
    return end.name_ + ": lane " + std::to_string(id) + " " + what + " " + std::to_string(h.sequence) + " " + protocol::name_of(h.type) +
           ((h.flags & protocol::kFlagEager) ? " eager" : "") + " stream " + std::to_string(h.stream) +
           ((h.flags & protocol::kFlagFromReceiver) ? " (from receiver)" : "") + " message " + std::to_string(h.message) + " a " +
           std::to_string(h.a) + " b " + std::to_string(h.b) + " length " + std::to_string(h.length) + " aux " + std::to_string(h.aux) +
           " consumed " + std::to_string(h.consumed);
  }
  // Both ends are ours: nothing that one sends may be refused by the other.
  Status refused(const Status& why) {
    end.fail_(end.name_ + ": lane " + std::to_string(id) + ": " + why.message());
    return why;
  }

  struct Lent {                             // payload that a lane refers to, and what it was when it was taken
    protocol::FrameHeader header;
    std::span<const std::byte> payload;
    std::uint64_t was = 0;
    std::uint64_t acknowledged_at = 0;      // when the peer's kernel has so many bytes it has all of it
  };
  static std::uint64_t digest(std::span<const std::byte> bytes) {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  // Of a stream that failed, what the receiver has is done at once (SendStream::fail): nobody needs these bytes again, and they may
  // be gone.
  void check(const Lent& l) {
    if (l.header.type != protocol::FrameType::segment) return;
    const auto streams = end.sending_streams();
    const auto its = std::ranges::find(streams, l.header.stream, [](const protocol::SendStream* s) { return s->id(); });
    if (its != streams.end() && !(*its)->failed() && digest(l.payload) != l.was)
      end.fail_(describe("sends from memory that was given back or written:", l.header));
  }

  SessionEnd& end;
  const LaneId id;
  const int local_rail, remote_rail;
  std::unique_ptr<wire::SimLane> lane;
  std::deque<protocol::FrameHeader> taken;  // not written
  std::deque<Lent> lent;                    // zero-copy: not let go of, the first so many of them written
  std::size_t written_of_lent = 0;
  std::uint64_t frames_taken = 0, peer_consumed = 0;
  std::span<std::byte> place;
  bool flush = false, blocked = false;
};

SessionEnd::SessionEnd(wire::SimNetwork& net, MemoryWatch& memory, std::string name, Host& host, const protocol::SessionOptions& options,
                       std::uint64_t seed, Fail fail)
    : net_(net), memory_(memory), name_(std::move(name)), host_(host), options_(options), fail_(std::move(fail)), random_(seed), session_(options),
      turns_([this](const std::string& what) { fail_(name_ + ": " + what); }), one_at_a_time_(random_() % 2 == 0), zero_copy_(seed % 4 == 0),
      pace_(kPaceLeast) {}

SessionEnd::~SessionEnd() { *alive_ = false; }

void SessionEnd::add_lane(LaneId id, int local_rail, int remote_rail, std::unique_ptr<wire::SimLane> lane) {
  if (over_ || dead_) return;
  lane->on_ready = [this, id, &its = *lane](wire::Lane&) {
    if (its.has_news() || leaving_ || has_something_to_say() || ports_.at(id)->lets_go()) touch();
  };
  if (session_.live_lanes() == 0) on_lane_back();
  session_.add_lane(id, local_rail, remote_rail);
  if (on_lane_stands) on_lane_stands(id);
  ports_[id] = std::make_unique<Port>(*this, id, local_rail, remote_rail, std::move(lane));
  drain();  // the peer may have given it up already
  touch();
}

void SessionEnd::give_up(LaneId id, const Status& why) {
  Port& port = *ports_.at(id);
  if (!port.lane) return;
  port.close();
  session_.lose_lane(id);
  if (!session_.error().ok()) return fail_(name_ + ": " + session_.error().message());  // a FENCE that cannot be
  on_lane_lost(why);
  touch();
}

void SessionEnd::lane_reset(Port& port, const Status& why) {
  if (!session_.is_retiring(port.id)) on_lane_reset();
  give_up(port.id, why);
}

void SessionEnd::retire(const std::vector<engine::Surplus>& surplus, const std::set<LaneId>& others) {
  bool news = false;
  for (const auto& [id, port] : ports_) {
    if (!port->lane) continue;
    const engine::RailPair rails{port->local_rail, port->remote_rail};
    const auto too_many = std::ranges::find(surplus, rails, &engine::Surplus::rails);
    const auto is_older = [&, number = id](const auto& other) {
      return other.first < number && other.second->lane && other.second->local_rail == rails.local && other.second->remote_rail == rails.remote;
    };
    const bool is_surplus = too_many != surplus.end() && std::ranges::count_if(ports_, is_older) >= too_many->keep;
    news |= session_.retire(id, is_surplus || others.contains(id));
  }
  if (news) touch();
}

void SessionEnd::reset_lanes() {
  for (const auto& [id, port] : ports_)
    if (port->lane) lane_reset(*port, Status(Code::remote, Scope::lane, "reset between the hosts"));
}

bool SessionEnd::has_lane(LaneId id) const {
  const auto it = ports_.find(id);
  return it != ports_.end() && it->second->lane;
}

std::vector<SessionEnd::OpenLane> SessionEnd::open_lanes() const {
  std::vector<OpenLane> open;
  for (const auto& [id, port] : ports_)
    if (port->lane) open.push_back({id, port->local_rail, port->remote_rail, port->lane.get()});
  return open;
}

// ------------------------------------------------------------------------------------------------------------- ending

void SessionEnd::fail(const Status& why) {
  if (over_) return;
  over_ = true;
  for (const auto& [id, port] : ports_) {
    if (!port->lane) continue;
    port->close();
    session_.lose_lane(id);
  }
  session_.fail(why);
  touch();
}

void SessionEnd::leave() {
  if (over_ || dead_ || leaving_) return;
  leaving_ = true;
  session_.say_goodbye();
  touch();
  net_.after(host_.clock.world(kFarewellMost), [this, alive = alive_] {
    if (*alive && !dead_) fail(Status(Code::cancelled, Scope::session, "left"));
  });
}

void SessionEnd::go_on_leaving() {
  if (half_closed_ || has_something_to_say() || !session_.goodbye_written()) return;
  for (const OpenLane& open : open_lanes())
    if (open.lane->health().outstanding_bytes > 0) return;
  half_closed_ = true;
  for (const OpenLane& open : open_lanes()) (void)open.lane->finish_writing();
}

void SessionEnd::die(bool with_host) {
  dead_ = true;
  if (with_host) return;
  for (const auto& [id, port] : ports_) port->lane.reset();
}

// ------------------------------------------------------------------------------------------------------------ running

void SessionEnd::withdraw(std::span<const std::byte> range) {
  for (const auto& [id, port] : ports_) {
    if (port->lane) (void)port->lane->withdraw_payload(range), port->lane->withdraw_target(range);
    for (Port::Lent& l : port->lent)
      if (wire::overlap(l.payload, range)) l = {l.header, {}, Port::digest({}), l.acknowledged_at};  // copied, or its lane closed
    if (!port->place.empty() && port->place.data() < range.data() + range.size() &&
        range.data() < port->place.data() + port->place.size())
      port->place = {};
  }
}

std::string SessionEnd::state() const {
  std::string text = name_ + ":" + (session_.has_data() ? " data of " + std::to_string(session_.waiting_bytes()) + " bytes" : "") +
                     (session_.has_control() ? " control" : "") + (session_.has_lazy() ? " lazy" : "");
  for (const auto& [id, port] : ports_) {
    if (!port->lane) continue;
    const wire::LaneHealth h = port->lane->health();
    text += " | lane " + std::to_string(id) + " over " + port->lane->link().spec().name + ": " + std::to_string(h.outstanding_bytes) + " outstanding, " +
            std::to_string(h.acknowledged_bytes) + " acknowledged, " + std::to_string(session_.rate_of(id).megabits()) + " Mb/s" +
            (port->blocked ? ", blocked" : "");
  }
  return text;
}

void SessionEnd::touch() {
  pace_ = kPaceLeast;
  pump_in(Nanos(random_() % 3000));
}

void SessionEnd::pump_in(Nanos delay) {
  const TimePoint when = std::max(net_.now() + delay, asleep_until_);
  if (when >= next_pump_) return;
  next_pump_ = when;
  net_.at(when, [this, when, alive = alive_] {
    if (!*alive || dead_ || next_pump_ != when) return;
    next_pump_ = TimePoint::max();
    if (net_.now() < asleep_until_) return pump_in(Nanos(0));
    pump();
  });
}

// Mostly generous; at times so small that a lane is left in the middle of a header or a segment.
std::size_t SessionEnd::budget() {
  switch (random_() % 8) {
    case 0: return 1 + random_() % 100;
    case 1: return 1 + random_() % 20'000;
    default: return 512 * KiB;
  }
}

void SessionEnd::pump() {
  bool more = false;
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    bool moved = false;
    int live = 0, stuck = 0;
    more = false;
    for (const auto& [id, port] : ports_) {
      if (!port->lane) continue;
      bool blocked = false;
      moved |= pump(*port, blocked, more);
      ++live;
      stuck += blocked;
    }
    if (live > 0 && stuck == live) {
      on_acks_waived();
      session_.publish_without_acks();
    }
    drain();
    if (!moved) break;
  }
  watch_control();
  if (more) return pump_in(Nanos(1 + random_() % 20'000));
  if (over_) return;
  if (leaving_) go_on_leaving();
  if (!leaving_ && !has_something_to_say()) return;
  pump_in(pace_);
  pace_ = std::min(2 * pace_, kPaceMost);
}

bool SessionEnd::pump(Port& port, bool& blocked, bool& more) {
  port.let_go();
  Result<wire::Moved> in = port.lane->read(port, budget());
  if (!in.ok()) {
    lane_reset(port, in.status());
    return true;
  }
  more |= !in->blocked;
  port.flush = in->bytes == 0;
  Result<wire::Moved> out = port.lane->write(port);
  if (!out.ok()) {
    lane_reset(port, out.status());
    return true;
  }
  bytes_moved_ += in->bytes;
  blocked = out->blocked && !port.lane->at_frame_boundary();
  if (blocked != port.blocked) session_.set_blocked(port.id, port.blocked = blocked);
  return in->bytes > 0 || out->bytes > 0;
}

void SessionEnd::watch_control() {
  if (control_look_comes_ || over_ || !session_.watches_control()) return;
  control_look_comes_ = true;
  const TimePoint when = std::max(net_.now() + host_.clock.world(protocol::Session::kLateLook), asleep_until_);
  net_.at(when, [this, alive = alive_] {
    if (!*alive || dead_) return;
    control_look_comes_ = false;
    if (net_.now() >= asleep_until_ && !over_) look_for_late_control();
    watch_control();
  });
}

void SessionEnd::look_for_late_control() {
  std::vector<protocol::Session::LaneLook> looks;
  for (const OpenLane& open : open_lanes()) {
    const wire::LaneHealth h = open.lane->health();
    looks.push_back({open.id, {h.outstanding_bytes, h.acknowledged_bytes, h.min_rtt, h.smoothed_rtt}});
  }
  const TimePoint now = host_.clock.local(net_.now());
  if (session_.say_late_control_again(now, now, looks) > 0) touch();
}

void SessionEnd::drain() {
  const auto completions = std::exchange(session_.completions(), {});
  for (const protocol::Completion& c : completions) on_completion(c);
  const auto events = std::exchange(session_.events(), {});
  for (const protocol::Event& e : events) {
    on_event(e);
    if (e.kind == protocol::Event::Kind::lane_condemned) give_up(e.lane);
    if (e.kind == protocol::Event::Kind::lane_retired && session_.is_retiring(e.lane)) give_up(e.lane);
  }
}

}  // namespace railweave::sim
