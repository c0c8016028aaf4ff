#include "tests/sim/lifeline.h"

#include "engine/lane_signs.h"
#include "wire/bootstrap/socket.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kLookEvery = 50ms;   // while something is owed ...
constexpr Nanos kIdleLookEvery = 1s; // ... and else, for keepalive

}  // namespace

Lifeline::Lifeline(wire::SimNetwork& net, SessionEnd& end, Nanos peer_timeout) : net_(net), end_(end), peer_timeout_(peer_timeout), hope_(peer_timeout) {
  look_in(kLookEvery);
}

void Lifeline::look_in(Nanos local) {
  net_.after(end_.host().clock.world(local), [this, alive = alive_] {
    if (*alive) look();
  });
}

void Lifeline::look() {
  if (end_.over() || end_.host().fate == Host::Fate::crashed || end_.host().fate == Host::Fate::lost_power) return;
  const TimePoint t = now();
  end_if_hopeless(t);
  if (end_.over()) return;
  const bool owed = look_for_signs(t);
  look_in(owed ? kLookEvery : kIdleLookEvery);
}

// True when something is owed.
bool Lifeline::look_for_signs(TimePoint t) {
  const HostClock& clock = end_.host().clock;
  const auto open = end_.open_lanes();
  std::vector<std::optional<engine::LaneSign>> signs;
  bool owed = open.empty();
  for (const auto& lane : open) {
    wire::Hearing h = lane.lane->hearing();
    h.heard_at = clock.local(h.heard_at);
    if (h.late_since) h.late_since = clock.local(*h.late_since);
    if (h.silent_since) h.silent_since = clock.local(*h.silent_since);
    owed = owed || h.owes;
    signs.push_back(engine::LaneSign{h, end_.host().rails[std::size_t(lane.local_rail)].link_down});
    // As the kernel's keepalive does, for those that are owed nothing.
    if (!h.owes && t - h.heard_at > peer_timeout_ + wire::keepalive_interval(peer_timeout_))
      end_.give_up(lane.id, Status(Code::remote, Scope::lane, "no keepalive was answered"));
  }
  if (end_.over()) return true;
  const engine::SilenceVerdict verdict = engine::judge_silence(t, signs, peer_timeout_);
  for (const int i : verdict.given_up) {
    hope_.raise(t);
    end_.give_up(open[std::size_t(i)].id, Status(Code::remote, Scope::lane, "no answer to what was sent"));
  }
  for (const int i : verdict.asked) end_.session().ask_for_sign(open[std::size_t(i)].id);
  const bool silent_before = std::exchange(peer_is_silent_, verdict.peer_is_silent);
  if (!verdict.asked.empty()) end_.touch();
  if (verdict.peer_is_gone) on_over(Status(Code::remote, Scope::session, "no answer for the peer timeout"));
  if (!end_.over() && (peer_is_silent_ || silent_before)) on_lane_wanted();
  return owed;
}

void Lifeline::on_lane_lost(const Status& why) {
  if (end_.over()) return;
  const bool goodbye = end_.leaving() || end_.session().peer_said_goodbye();
  if (end_.session().live_lanes() == 0) {
    const Status loss(Code::remote, Scope::session, "the last lane was lost: " + why.message());
    if (!hope_.last_lane_lost(now(), false, goodbye, loss)) return on_over(loss);
  }
  if (!goodbye) on_lane_wanted();
}

void Lifeline::join_ended() {
  hope_.join_ended();
  if (!end_.over()) end_if_hopeless(now());
}

void Lifeline::end_if_hopeless(TimePoint t) {
  if (end_.session().live_lanes() > 0) return;
  if (const Status why = hope_.over(t); !why.ok()) on_over(why);
}

}  // namespace railweave::sim
