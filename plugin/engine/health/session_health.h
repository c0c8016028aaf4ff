// Judges the lanes of a session and the peer behind them (decision D12; docs/operate/reliability.md, "How a lane
// ends"). Decides which lane is given up and why, and when the peer counts as silent, stopped or lost. Decides whether
// a session that lost its last lane waits for another.
//
// Pure: no clock, no lock, no lane. Events, observations and the time come in; SessionLanes carries out the verdicts
// that come out. The rules are in reconnect_grace, lane_liveness, drain_rate, slow_lane_detector, peer_heartbeat and
// carrying_pairs.
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
#include "engine/health/drain_rate.h"
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
  Nanos stall_timeout{0};  // RAILWEAVE_STALL_TIMEOUT; 0: a peer may be stopped without limit
};

// One open lane, as the holder of its claim saw it.
struct LaneObservation {
  LaneRef lane;
  std::uint16_t id = 0;    // the lane's number in the session
  bool link_down = false;  // the link of our rail is down
  wire::AckStatus ack_status;
  wire::LaneHealth health;
  // The protocol's knowledge of the lane. Set under the session's mutex, for find_slow_lanes() only.
  Rate believed;            // rate that the striper assumes
  bool holds_data = false;  // unacknowledged data; false: nothing but padding
};

struct HealthVerdict {
  enum class Kind {
    give_up,               // give up `lane`, for the reason `why`
    send_any_frame,        // send a frame by `lane` that the peer's kernel acknowledges
    send_heartbeat_probe,  // send a heartbeat probe by `lane`
    heartbeat_probe_sent,  // all lanes that work carry the probe: call on_heartbeat_probe_sent() with them
    peer_silent,           // log that no lane is heard
    peer_answers,          // log that the peer answers again
    peer_stopped,          // log that only the peer's kernel answers
    peer_lost,             // end the session: no lane was heard for the peer timeout
    peer_stalled,          // end the session: the peer was stopped for the stall timeout
    reconnect,             // lanes are wanted: LaneReconciler or PeerProbe is to be polled
  } kind;
  enum class Why { none, unanswered, link_down, too_slow } why = Why::none;
  LaneRef lane;
  std::uint16_t id = 0;
};

// How a lane broke by itself.
struct LaneBreak {
  enum class Damage { none, frame, payload } damage = Damage::none;  // which bytes arrived altered
  wire::LaneEnd end = wire::LaneEnd::closed;                         // if there is no damage
  bool intact_payload_came = false;                                  // since the last altered payload
  std::uint64_t exchanged_segments = 0;                              // ever, in both directions, on all lanes
  bool retires = false;                                              // the lane was ending in good order
};

// A lane that ended, for any reason.
struct LaneGone {
  Status why;
  std::string rail;        // name of our rail
  bool malformed = false;  // a frame on the lane contradicted the protocol
  wire::LaneEnd end = wire::LaneEnd::closed;
  bool retires = false;     // the lane was ending in good order
  Status disagreement;      // not ok: the lane's end showed that the two ends disagree
  int live_lanes = 0;       // lanes that are left
  bool is_leaving = false;  // a goodbye was said, by either side
  bool peer_left = false;   // the peer said goodbye
};

// The consequences of the end of a lane.
struct AfterLane {
  enum class Then {
    go_on,  // other lanes are left
    wait,   // no lane is left, and the session waits for another
    end,    // the session ends with `loss`
  } then = Then::go_on;
  bool retired = false;    // the lane ended in good order: no loss
  bool is_loss = false;    // the end is counted and logged as a loss of its rail
  bool reconnect = false;  // lanes are wanted
  bool logs = false;       // log `loss`, even if no request waits
  Status loss;
};

// An answer to a dialled lane, or to a peer probe.
struct PeerAnswer {
  JoinAnswer::Kind kind = JoinAnswer::Kind::failed;
  std::string why;                 // text for messages
  RailPair by;                     // the pair that was dialled
  std::span<const RailPair> open;  // the pair of each open lane; not of lanes under way or ending
  bool to_probe = false;           // the probe may be older than lanes that are heard again
  bool is_leaving = false;         // a goodbye was said, by either side
};

class SessionHealth {
 public:
  using Verdicts = std::vector<HealthVerdict>;
  using Observations = std::vector<LaneObservation>;

  // `peer` names the other side in messages.
  SessionHealth(std::string peer, const HealthOptions& options);

  // --- lanes come
  // A lane of this pair is about to be established. Throws std::bad_alloc; nothing has changed then.
  void pair_carries(const RailPair& rails) { pairs_.carries(rails); }
  // The lane is established. `live_lanes`: the number of other lanes. Returns true if the peer was silent: the
  // handshake shows that the peer answers again.
  bool lane_came(TimePoint now, int live_lanes);
  // join_began(): a lane is being dialled. join_ended(): the dial is over, with any outcome. While a dial is under way,
  // the loss of the other lanes ends nothing. A peer that is gone still ends the session.
  void join_began() { grace_.join_began(); }
  void join_ended() { grace_.join_ended(); }
  // The peer sent a peer probe.
  void probed(TimePoint now) {
    probed_at_ = now;
    pairs_.forget_denials();
  }
  // Both ends agreed on a lane, which may take a while to be established. Counts as join_began().
  void lane_agreed() {
    grace_.join_began();
    pairs_.forget_denials();
  }

  // --- lanes go. Call the first that applies of lane_broke(), lane_given_up() and lane_failed_by_peer(), if any. Then
  // call lane_gone().
  void lane_broke(TimePoint now, const LaneBreak& how);
  // lane_given_up(): this end gave up a lane. lane_failed_by_peer(): the peer did.
  void lane_given_up(TimePoint now) { grace_.extend(now); }
  void lane_failed_by_peer(TimePoint now, bool retires) {
    if (!retires) grace_.extend(now);
  }
  AfterLane lane_gone(TimePoint now, const LaneGone& gone);
  // Not ok: the session ends with this status. Either no lane is left and none is waited for any longer, or no lane is
  // heard and the peer is gone (on_answer()).
  Status grace_over(TimePoint now, int live_lanes) const;

  // --- polls. `lanes`: all open lanes, in the order of their places. Call the three functions in this order. Carry out
  // the verdicts of each, and pass the lanes that are left to the next one.
  Verdicts find_silent_lanes(TimePoint now, const Observations& lanes, int live_lanes);
  // `consumed_frames`: consumed from the peer, ever. Finds nothing while the peer is silent.
  Verdicts find_slow_lanes(TimePoint now, const Observations& lanes, std::uint64_t consumed_frames);
  // `is_waited_for`: a request needs the peer.
  Verdicts find_stopped_peer(TimePoint now, const Observations& lanes, std::uint64_t consumed_frames,
                             bool is_waited_for);
  // Call for heartbeat_probe_sent. `by`: the lanes that carry the probe, as they are then.
  void on_heartbeat_probe_sent(std::span<const LaneObservation> by);
  bool peer_is_silent() const { return peer_is_silent_; }

  // --- answers to dials and probes
  // Not ok: the peer has no such session any more, and ours ends with this status. Ok after a goodbye.
  // The answer *unknown session* of the peer's instance is always believed, except by a probe that was sent before
  // lanes were heard again. Other answers are believed only while no lane is heard. All other pairs that speak for the
  // peer must have had the same answer, or their time for one (carrying_pairs.h). A refused connection beside an open
  // lane of its own pair may come from a firewall. If the session ends for want of a lane, its error includes `why`.
  Status on_answer(TimePoint now, const PeerAnswer& answer);
  // A dial or a probe could not begin. If the session ends for want of a lane, its error includes `why`.
  void try_failed(std::string why) { last_try_ = std::move(why); }
  // Returns the pairs that have a lane now or had one earlier.
  std::vector<RailPair> pairs_that_carried() const { return pairs_.all(); }
  // Call after lanes were lost. `open`: the pairs of open lanes.
  void note_lost_pairs(TimePoint now, const std::vector<RailPair>& open) { pairs_.note_lost(now, open); }

 private:
  struct DrainEntry {
    std::uint32_t generation = 0;
    DrainRate rate;
  };

  DrainRate& drain_rate_of(const LaneRef& lane);
  LaneDrain drain_of(TimePoint now, const LaneObservation& seen);
  bool came_through(const LaneBreak& how);
  bool second_malformed(TimePoint now);
  Status loss_of(const LaneGone& gone) const;
  Status lost(const std::string& what, Code code, int system_errno) const;

  const std::string peer_;
  const HealthOptions options_;
  ReconnectGrace grace_;
  SlowLaneDetector slow_lanes_;
  PeerHeartbeat heartbeat_;
  HeartbeatProbe heartbeat_probe_;
  std::vector<DrainEntry> drain_rates_;  // by place
  CarryingPairs pairs_;
  std::optional<std::uint64_t> segments_at_damage_;  // exchanged when altered bytes outside a payload came last
  TimePoint malformed_at_ = TimePoint::min();        // when the last malformed frame came; min(): never
  TimePoint probed_at_ = TimePoint::min();           // when the last peer probe came; min(): never
  bool peer_is_silent_ = false;
  std::string last_try_;  // why the last dial or probe brought no lane; empty: none failed
};

}  // namespace railweave::engine
