// The lanes of a session: adds, drives, polls, gives up and ends them (docs/operate/reliability.md). SessionHealth
// judges lanes and the peer. This class observes the lanes for SessionHealth and carries out its verdicts.
//
// Threads: drive(), withdraw(), the events and calls that say so: any. All else: one thread at a time (the reactor's).
// A lane's claim is taken before the session's mutex. The owner is called without that mutex, unless a call says
// otherwise. Needs neither a reactor nor sockets; reads the time from the protocol's clock.
// Errors: std::bad_alloc from begin_lane(), on_answer(), try_failed(), join_ended(), drive(), poll() and the events
// means that a loss may be half handled: the session must fail (LanesOwner::guarded()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/without_memory.h"
#include "engine/health/session_health.h"
#include "engine/reconcile/lane_plan.h"
#include "engine/session/arrival_flags.h"
#include "engine/session/lane_table.h"
#include "engine/session/shared_protocol.h"
#include "protocol/session_protocol.h"
#include "railweave/config.h"
#include "railweave/stats.h"
#include "wire/port.h"

namespace railweave::engine {

// A lane that was lost, though neither side left.
struct LaneLoss {
  int rail = 0;       // ours
  std::string cause;  // for the log; empty: logged already
};

// The session that owns the lanes. Called by any thread, perhaps with a lane's claim held; without the session's mutex,
// unless a call says otherwise.
class LanesOwner {
 public:
  // Some request, or some stream that the peer has not answered, needs the peer. Called under the session's mutex.
  virtual bool is_waited_for(const SharedProtocol::Locked& locked) = 0;
  // There is something to write or to poll, and perhaps no caller polls.
  virtual void wake() noexcept = 0;
  // A lane was lost and others are left or may come; or the peer is silent.
  virtual void on_lane_wanted() = 0;
  // Returns the credit of a new lane on our rail; null: the peer's sending is not bounded. Thread of poll().
  virtual std::unique_ptr<LaneCredit> credit_on(int /*rail*/) { return {}; }
  // A lane of begin_lane() is open. Thread of poll().
  virtual void on_lane_came() = 0;
  // Whether to log at WARN, not INFO, that the peer fell silent or answers again. Thread of poll().
  virtual bool may_warn_of_silence(bool is_silent) = 0;
  // Logs why the session ends; later calls do nothing.
  virtual void log_loss(const Status& why) = 0;
  // Ends the session: with `why`, or with "connection to PEER lost: `why`". Sets is_over().
  virtual void fail(const Status& why) = 0;
  virtual void lose(const std::string& why, int system_errno) = 0;

  // Guards each call by which a thread moves a session. If `act` finds no memory, a loss, an event or a dial may be
  // half done, so the session fails with out_of_memory(). False: the session failed. Throws std::bad_alloc only where
  // fail() finds no memory for a second.
  template <class Act>
  bool guarded(Act&& act) {
    try {
      act();
      return true;
    } catch (const std::bad_alloc&) {
      fail(out_of_memory());
      return false;
    }
  }

 protected:
  ~LanesOwner() = default;
};

// Returns how long a lane may be on its way. Another wire must still have time within the connect timeout, whatever the
// peer timeout.
Nanos time_of_pending_lane(const Config& config);

struct SessionLanesOptions {
  LaneOptions lane;
  HealthOptions health;
  bool by_rails = true;  // lanes are connections, and new lanes may replace lost ones; else there is only one lane ever
  Nanos pending_most = std::chrono::seconds(10);  // time_of_pending_lane()
};

class SessionLanes {
 public:
  // `protocol` and `owner` outlive the object. `peer` names the other side in messages: "host pid 123".
  SessionLanes(SharedProtocol& protocol, LanesOwner& owner, std::string peer, const SessionLanesOptions& options);

  // --- any thread
  const std::string& peer() const { return peer_; }  // names the other side in messages
  TimePoint now() const { return protocol_.now(); }  // by the session's clock
  bool is_over() const { return protocol_.is_over(); }
  bool is_leaving() { return protocol_.is_leaving(); }  // either side said GOODBYE
  bool is_without_lanes() { return protocol_.is_without_lanes(); }

  // lane_table.h says which thread may call what.
  const LaneTable& table() const { return table_; }
  // The peer said something, on any lane.
  bool was_heard() const { return arrivals_.was_heard(); }

  // --- new lanes. The thread of poll().
  // Both ends agreed on the lane, and `pending` was started. `pending` is polled at once, and with every poll() until
  // there is a lane. An error, or no lane in time, counts as a lost lane; a session that never had a lane ends. A lane
  // that finds no room is closed.
  void begin_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::PendingLane> pending,
                  bool doubtful);
  // Some lane is on its way: call poll() soon.
  bool any_is_pending() const { return !pending_.empty(); }
  // Lane `id` is on its way, or could not be made: the number is used up, though the protocol does not know it.
  bool was_begun(protocol::LaneId id) const;
  // Returns the pair of rails of each lane that is open or on its way.
  std::vector<RailPair> rails_in_use() const;
  // Adds an open lane, in the place of an ended lane or in a new place. False: no room; `lane` is closed. `doubtful`:
  // see Session::add_lane().
  bool add_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane, bool doubtful);
  // A lane is being dialled, and then is not any more. The peer may use this lane, and leave, before this end has the
  // lane. Until join_ended(), losing the other lanes therefore ends nothing.
  void join_began();
  void join_ended();
  // A peer probe came: the peer asked by a new connection whether this end still serves the session.
  void on_probe();
  // `answer` came to a dial by the rails `by`, or, if `to_probe`, to a peer probe by these rails. True: the answer
  // ended the session.
  bool on_answer(const JoinAnswer& answer, const RailPair& by, bool to_probe);
  // A dial could not even begin. If the session ends for want of a lane, its error says `why`.
  void try_failed(const std::string& why);
  // As LanesOwner::guarded(). For LaneReconciler and PeerProbe.
  template <class Act>
  bool guarded(Act&& act) {
    return owner_.guarded(std::forward<Act>(act));
  }

  // --- moving data. Any thread.
  struct Driven {
    bool moved = false;   // bytes moved, or a lane was lost: there may be more to do
    bool missed = false;  // another thread held a lane's claim
  };
  // Reads and writes once each lane whose claim is free. Asks the wire of an ending lane whether the lane has ended.
  // `flush`: lazy frames do not wait for others.
  Driven drive(std::size_t budget_bytes, bool flush);
  // After return no lane touches `range` for this stream, now or later. `sends`: lanes read `range` to send it; else
  // they write to `range`. Writes for other streams are not stopped: the memory may belong to another stream by now.
  void withdraw(protocol::StreamId stream, bool sends, std::span<const std::byte> range);

  // --- judging lanes. One thread at a time.
  // Polls pending and ending lanes, observes the open ones, and carries out SessionHealth's verdicts. `at_once`: an
  // event happened; else SessionHealth is asked every 50 ms at most.
  void poll(bool at_once);
  // Carries out verdicts. A verdict on a lane that is closed, or whose place has a newer generation, is dropped. False:
  // the session ended.
  bool carry_out(const SessionHealth::Verdicts& verdicts);
  // Our rail has lost its link, or has one again.
  void set_link(int rail, bool up);
  bool has_link(int rail) const { return (links_down_ >> rail & 1) == 0; }
  // The surplus lanes retire from now on, and no others (docs/operate/reliability.md, "Backup lanes"). For
  // the side that dials.
  void retire(const std::vector<Surplus>& surplus);

  // Closes every lane, and gives up the lanes on their way. REQUIRES: the session is over, or no thread drives it any
  // more.
  void close();

  // --- events from the peer (protocol::Event). Any thread.
  // The peer gave lane `id` up.
  void on_failed_by_peer(protocol::LaneId id, bool too_slow);
  // The lane's frames are consumed at both ends, and the peer, which dialled the lane, wants it ended.
  void on_retired(protocol::LaneId id);
  // The peer's credit let nothing go by lane `id`, and a segment was sent all the same. Logs at WARN. REQUIRES: the
  // caller holds no lane's claim.
  void on_overridden(protocol::LaneId id, const protocol::CreditWindow::Override& how) const;

  // --- what was found so far
  // No lane is heard, though one should be.
  bool peer_is_silent();
  // Returns the pairs that have a lane now or had one earlier.
  std::vector<RailPair> pairs_that_carried();
  // Notes when each pair lost its last lane. Call it when lanes were lost.
  void note_lost_pairs();
  // Returns the pairs of rails of lanes that were given up as too slow since the last call; a lane may still be ending.
  std::vector<RailPair> take_slow_pairs();
  // Returns the losses of lanes since the last call.
  std::vector<LaneLoss> take_losses();

 private:
  struct PendingEntry {  // a lane on its way
    protocol::LaneId id = 0;
    RailPair rails;
    std::unique_ptr<wire::PendingLane> lane;
    bool doubtful = false;
    TimePoint given_up_at{};  // if there is no lane by then
  };

  bool drive_lane(LaneDriver& lane, std::size_t budget_bytes, bool flush, bool& blocked) RW_RELEASE(lane);
  // session_lanes_pending.cc
  void poll_pending();
  void establish(const PendingEntry& entry, std::unique_ptr<wire::Lane> lane);
  Result<std::unique_ptr<wire::Lane>> poll(PendingEntry& entry) const;
  void on_not_established(const PendingEntry& entry, const Status& why);
  // session_lanes_poll.cc
  void retransmit_late_control(TimePoint t);
  SessionHealth::Observations observe() const;
  void drop_gone(SessionHealth::Observations& seen) const;
  void send_frames(const SessionHealth::Verdicts& verdicts);
  void note_heartbeat_probe(const SessionHealth::Verdicts& verdicts);
  void end_if_grace_is_over(TimePoint t);
  void log_silence(bool is_silent);
  void log_stopped() const;
  void poll_ending();
  // session_lanes_end.cc. REQUIRES: the lane's claim. For the first three the lane is open, for finish() it is ending.
  void note_break(LaneDriver& lane, const LaneDriver::Pass& pass) RW_REQUIRES(lane);
  LaneEnding given_up(LaneDriver& lane, std::string_view reason, bool too_slow) RW_REQUIRES(lane);
  void end(LaneDriver& lane, LaneEnding ending) RW_REQUIRES(lane);
  bool finish(LaneDriver& lane) RW_REQUIRES(lane);
  void lane_over(LaneDriver& lane) RW_REQUIRES(lane);
  void note_loss(LaneDriver& lane) RW_REQUIRES(lane);

  SharedProtocol& protocol_;
  LanesOwner& owner_;
  const std::string peer_;
  const SessionLanesOptions options_;
  ArrivalFlags arrivals_;
  LaneTable table_;
  UnderProtocol<SessionHealth> health_;
  UnderProtocol<std::vector<RailPair>> slow_pairs_;
  UnderProtocol<std::vector<LaneLoss>> losses_;
  // The fields below belong to the thread of poll().
  TimePoint health_polled_at_{}, control_polled_at_{};
  std::vector<PendingEntry> pending_;
  std::vector<protocol::LaneId> failed_;  // lanes that could not be established
  bool any_retires_ = false;
  std::uint64_t links_down_ = 0;  // one bit for each rail of ours
};

}  // namespace railweave::engine
