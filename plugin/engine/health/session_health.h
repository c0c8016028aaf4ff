// Judges the lanes of a session and the peer behind them (decision D12; docs/operate/reliability.md, "How a lane
// ends"): which lane is given up and why, when the peer counts as silent, stopped or lost, and whether a session that
// lost its last lane waits for another.
//
// Pure: no clock, no lock, no lane. Events, observations and the time come in, verdicts come out; SessionLanes carries
// them out. The rules are in reconnect_grace, lane_liveness, slow_lane_detector, peer_heartbeat and carrying_pairs.
// Threads: one at a time, under the session's mutex.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/connect/join_answer.h"
#include "engine/health/carrying_pairs.h"
#include "engine/health/lane_liveness.h"
#include "engine/health/peer_heartbeat.h"
#include "engine/health/reconnect_grace.h"
#include "engine/health/slow_lane_detector.h"
#include "engine/reconcile/lane_plan.h"
#include "engine/session/lane_ref.h"
#include "railweave/status.h"
#include "wire/wire.h"

namespace railweave::engine {

struct HealthOptions {
  Nanos peer_timeout{0};   // RAILWEAVE_PEER_TIMEOUT
  Nanos stall_timeout{0};  // RAILWEAVE_STALL_TIMEOUT; 0: a peer may be stopped for ever
};

// One open lane, as the holder of its claim saw it.
struct LaneObservation {
  LaneRef lane;
  std::uint16_t id = 0;    // the lane's number in the session
  bool link_down = false;  // of our rail
  wire::AckStatus ack_status;
  wire::LaneHealth health;
  // What the protocol knows of it; asked for under the session's mutex, for find_slow_lanes() only.
  Rate believed;            // that the striper counts on
  bool holds_data = false;  // not padding alone
};

struct HealthVerdict {
  enum class Kind {
    give_up,         // `lane`, because of `why`
    ask_lane,        // a frame goes there that the peer's kernel acknowledges
    ask_peer,        // likewise one that the peer's session answers
    question_asked,  // ask_peer went by all lanes that work: question_went() for each, as it is then
    peer_silent,     // to be told: no lane is heard
    peer_answers,    // to be told: it does again
    peer_stopped,    // to be told: its kernel answers, and it does not
    peer_lost,       // the session ends: no lane was heard for the peer timeout
    peer_stalled,    // the session ends: the peer was stopped for the stall timeout
    reconnect,       // lanes are wanted: whoever dials or probes looks what is to be done
  } kind;
  enum class Why { none, unanswered, link_down, too_slow } why = Why::none;
  LaneRef lane;
  std::uint16_t id = 0;
};

// How a lane broke of itself.
struct LaneBreak {
  enum class Damage { none, frame, payload } damage = Damage::none;  // what arrived there was altered
  wire::LaneEnd end = wire::LaneEnd::closed;                         // without damage
  bool intact_payload_came = false;                                  // since the last altered one
  std::uint64_t exchanged_segments = 0;                              // ever, both ways, on all lanes
  bool retires = false;                                              // it was to end in good order
};

// A lane is gone, whatever ended it.
struct LaneGone {
  Status why;
  std::string rail;        // ours
  bool malformed = false;  // what came there contradicts the protocol
  wire::LaneEnd end = wire::LaneEnd::closed;
  bool retires = false;     // as it was before it went
  Status disagreement;      // not ok: its end showed that the two ends do not agree
  int live_lanes = 0;       // that are left
  bool is_leaving = false;  // a goodbye was said, by either side ...
  bool peer_left = false;   // ... by the peer
};

// What follows from that.
struct AfterLane {
  enum class Then {
    go_on,  // other lanes are there
    wait,   // none is, and another is waited for
    end,    // the session ends with `loss`
  } then = Then::go_on;
  bool retired = false;    // it ended in good order: no loss
  bool is_loss = false;    // it is counted, and told, as a loss of its rail
  bool reconnect = false;  // lanes are wanted
  bool logs = false;       // the log says `loss`, also when nobody waits
  Status loss;
};

// An answer to a lane that was dialled, or to a probe.
struct PeerAnswer {
  JoinAnswer::Kind kind = JoinAnswer::Kind::failed;
  std::string why;                 // for people
  RailPair by;                     // the rails that were dialled
  std::span<const RailPair> open;  // the pair of each open lane; not of one that is on its way, or ending
  bool to_probe = false;           // which may have been asked before lanes were heard again
  bool is_leaving = false;         // a goodbye was said, by either side
};

class SessionHealth {
 public:
  using Verdicts = std::vector<HealthVerdict>;
  using Observations = std::vector<LaneObservation>;

  // `peer` names the other side in messages.
  SessionHealth(std::string peer, const HealthOptions& options);

  // --- lanes come
  // A lane of this pair is about to stand. May throw, and is without effect then.
  void pair_carries(const RailPair& rails) { pairs_.carries(rails); }
  // It stands; `live_lanes`: the others. True: the peer was silent, and answers again: its handshake did.
  bool lane_came(TimePoint now, int live_lanes);
  // One is being dialled; and is not any more, whatever came of it. While one is, losing the others ends nothing; a
  // peer that is gone does.
  void join_began() { grace_.join_began(); }
  void join_ended() { grace_.join_ended(); }
  // The peer asked by a new connection whether we are there.
  void probed(TimePoint now) {
    probed_at_ = now;
    pairs_.forget_denials();
  }
  // Both ends agreed on a lane, which may take a while to stand: a join began.
  void lane_agreed() {
    grace_.join_began();
    pairs_.forget_denials();
  }

  // --- lanes go. First why, where there is more to say than that it is gone; then lane_gone().
  void lane_broke(TimePoint now, const LaneBreak& how);
  // We gave it up, or the peer did.
  void lane_given_up(TimePoint now) { grace_.extend(now); }
  void lane_failed_by_peer(TimePoint now, bool retires) {
    if (!retires) grace_.extend(now);
  }
  AfterLane lane_gone(TimePoint now, const LaneGone& gone);
  // Not ok: the session ends with that. No lane is left, and none is waited for any longer; or no lane is heard, and
  // the peer is gone (on_answer()).
  Status grace_over(TimePoint now, int live_lanes) const;

  // --- looks: all open lanes, by place. In this order, each with what is left of the lanes once the verdicts of the
  // one before are carried out.
  Verdicts find_silent_lanes(TimePoint now, const Observations& lanes, int live_lanes);
  // `consumed_frames`: of the peer, ever. Nothing while the peer is silent.
  Verdicts find_slow_lanes(TimePoint now, const Observations& lanes, std::uint64_t consumed_frames);
  // `is_waited_for`: some request needs the peer.
  Verdicts find_stopped_peer(TimePoint now, const Observations& lanes, std::uint64_t consumed_frames,
                             bool is_waited_for);
  // After question_asked.
  void question_went(std::span<const LaneObservation> by);
  bool peer_is_silent() const { return peer_is_silent_; }

  // --- what comes of dials and probes
  // Not ok: the peer has no such session any more, and ours ends with that. An instance that says so of its own session
  // is believed in any case, but for a probe that was asked before lanes were heard again. Other answers are believed
  // where nobody is heard, and only once the other pairs that speak for the peer said the same, or had their time
  // (carrying_pairs.h). A refused connection beside an open lane of its pair may be a firewall's word. `why` is told if
  // the session ends for want of a lane.
  Status on_answer(TimePoint now, const PeerAnswer& answer);
  // A dial or a probe could not begin. `why` is told if the session ends for want of a lane.
  void try_failed(std::string why) { last_try_ = std::move(why); }
  // The pairs that have a lane now or had one earlier.
  std::vector<RailPair> pairs_that_carried() const { return pairs_.all(); }
  // `open`: the pairs of open lanes. To be called when lanes were lost.
  void note_lost_pairs(TimePoint now, const std::vector<RailPair>& open) { pairs_.note_lost(now, open); }

 private:
  struct Pace {
    std::uint32_t generation = 0;
    DrainRate pace;
  };

  DrainRate& pace_of(const LaneRef& lane);
  LaneDrain pacing_of(TimePoint now, const LaneObservation& seen);
  bool came_through(const LaneBreak& how);
  bool second_malformed(TimePoint now);
  Status loss_of(const LaneGone& gone) const;
  Status lost(const std::string& what, Code code, int system_errno) const;

  const std::string peer_;
  const HealthOptions options_;
  ReconnectGrace grace_;
  SlowLaneDetector recall_;
  PeerHeartbeat heartbeat_;
  HeartbeatProbe question_;
  std::vector<Pace> paces_;  // by place
  CarryingPairs pairs_;
  std::optional<std::uint64_t> segments_at_damage_;  // exchanged when wrong bytes that are no payload came last
  TimePoint malformed_at_ = TimePoint::min();        // when the last malformed frame came
  TimePoint probed_at_ = TimePoint::min();
  bool peer_is_silent_ = false;
  std::string last_try_;  // why the last dial or probe brought no lane; empty: none failed
};

}  // namespace railweave::engine
