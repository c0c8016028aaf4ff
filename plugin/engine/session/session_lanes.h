// The lanes of a session: they come, are driven and looked at, are given up, and go (docs/operate/reliability.md). What
// the state of a lane or of the peer means is SessionHealth's to say; here lanes are observed for it, and its verdicts
// carried out.
//
// Threads: drive(), withdraw(), the events and what is said to be for any thread; all else one thread at a time (the
// reactor's). A lane's claim is taken before the session's mutex, and the owner is called without that mutex.
// Needs neither a reactor nor sockets: whatever drives it brings the time, by its protocol's clock.
// Errors: std::bad_alloc from begin_lane(), on_answer(), try_failed(), join_ended(), drive(), poll() and the events
// means that a loss may be half handled: the session has to fail (LanesOwner::guarded()).
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
#include "railweave/stats.h"
#include "wire/port.h"

namespace railweave::engine {

// A lane that is gone, though nobody left: of which of our rails, and why.
struct LaneLoss {
  int rail = 0;
  std::string cause;  // empty: the log has said it
};

// The session whose lanes they are. Called by any thread, without the session's mutex unless it says otherwise, perhaps
// with a lane's claim held.
class LanesOwner {
 public:
  // Under the session's mutex. Some request, or some stream that is not answered yet, needs the peer.
  virtual bool is_waited_for(const SharedProtocol::Locked& locked) = 0;
  // There is something to write, or to look after, and perhaps no caller polls.
  virtual void wake() noexcept = 0;
  // A lane was lost and others are left, or a lane may yet come; or the peer is silent.
  virtual void on_lane_wanted() = 0;
  // The credit of a new lane by our rail; null: its sender is not bounded. Thread of poll().
  virtual std::unique_ptr<LaneCredit> credit_on(int /*rail*/) { return {}; }
  // A lane that begin_lane() was told of stands. Thread of poll().
  virtual void on_lane_came() = 0;
  // Whether one more line at WARN of a peer that falls silent, or answers again, fills no log. Thread of poll().
  virtual bool may_warn_of_silence(bool is_silent) = 0;
  // The log is told why the session ends, once.
  virtual void announce_loss(const Status& why) = 0;
  // The session ends: with `why`, or with "connection to PEER lost: `why`". Sets is_over().
  virtual void fail(const Status& why) = 0;
  virtual void lose(const std::string& why, int system_errno) = 0;

  // Every call by which a thread sets something going in a session passes here. If `act` finds no memory, a loss, an
  // event or a dial may be half done, so the session fails with out_of_memory(). False: the session failed. Throws
  // std::bad_alloc only where fail() finds no memory for a second.
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

struct SessionLanesOptions {
  LaneOptions lane;
  HealthOptions health;
  bool by_rails = true;  // lanes are connections, and others may take their places; else one lane is all there will be
};

class SessionLanes {
 public:
  // `protocol` and `owner` outlive it. `peer` names the other side in messages: "host pid 123".
  SessionLanes(SharedProtocol& protocol, LanesOwner& owner, std::string peer, const SessionLanesOptions& options);

  // The other side, for messages; the time by the session's clock. Any thread, as are the next ones.
  const std::string& peer() const { return peer_; }
  TimePoint now() const { return protocol_.now(); }
  bool is_over() const { return protocol_.is_over(); }
  bool is_leaving() { return protocol_.is_leaving(); }  // a goodbye was said, by either side
  bool is_without_lanes() { return protocol_.is_without_lanes(); }

  // Any thread, as LaneTable says.
  const LaneTable& table() const { return table_; }
  // The peer said something, on any lane. Any thread.
  bool was_heard() const { return arrivals_.was_heard(); }

  // --- lanes come. The thread of poll().
  // Both ends agreed, and `pending` was started. It is polled at once, and at every poll() until there is a lane. An
  // error, or none within the peer timeout, counts as a lane that was lost; of a session that never had one it is the
  // end. A lane that finds no room is closed.
  void begin_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::PendingLane> pending,
                  bool doubtful);
  // Some lane is on its way: poll() should be called soon.
  bool any_is_pending() const { return !births_.empty(); }
  // A lane of that number is on its way, or never came about: the number is used up, though the protocol has not heard
  // of it.
  bool was_begun(protocol::LaneId id) const;
  // The pair of rails of each lane that is open, or on its way.
  std::vector<RailPair> rails_in_use() const;
  // Takes the place of one that has ended, or a new one. False: no room for another. `doubtful`: see
  // Session::add_lane().
  bool add_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane, bool doubtful);
  // A lane is being dialled; the peer may use it, and leave, before we have it. While one is, losing the others ends
  // nothing.
  void join_began();
  void join_ended();
  // The peer asked by a new connection whether we are there.
  void on_probe();
  // `answer` came to a lane that was dialled by the rails `by`, or `to_probe` to a probe by them. True: the session
  // ended for that.
  bool on_answer(const JoinAnswer& answer, const RailPair& by, bool to_probe);
  // A lane could not even be dialled: told should the session end for want of one.
  void try_failed(const std::string& why);
  // For whoever sees to the lanes: LanesOwner::guarded().
  template <class Act>
  bool guarded(Act&& act) {
    return owner_.guarded(std::forward<Act>(act));
  }

  // --- lanes move. Any thread.
  struct Driven {
    bool moved = false;   // bytes, or a lane was lost: there may be more to do
    bool missed = false;  // another thread held a lane's claim
  };
  // Each lane that is free is read and written once; of one that is ending the wire is asked whether it has ended.
  // `flush`: nothing waits for company.
  Driven drive(std::size_t budget_bytes, bool flush);
  // After return no lane touches `range` of this stream any more, nor will. `sends`: what lanes read for streams; else
  // what they write for this one (its memory may be another's by now).
  void withdraw(protocol::StreamId stream, bool sends, std::span<const std::byte> range);

  // --- lanes are looked at, one thread at a time What is heard of the lanes, and what follows from it. `at_once`:
  // something has happened; else not more often than is worth it.
  void poll(bool at_once);
  // Carries out what was found at a look. What names a lane of an older generation, or one that is closed, is dropped.
  // False: the session ended.
  bool carry_out(const SessionHealth::Verdicts& verdicts);
  // One of our rails has no link, or has one again.
  void announce_link(int rail, bool up);
  bool has_link(int rail) const { return (links_down_ >> rail & 1) == 0; }
  // These lanes retire from now on, and no others (docs/operate/reliability.md, "Stand-ins"). For the side that dials.
  void retire(const std::vector<Surplus>& surplus);

  // Every lane is closed, and none comes any more of those on their way. REQUIRES: the session is over, or nobody
  // drives it any more.
  void close();

  // --- what the peer says of lanes (protocol::Event). Any thread.
  // It gave one up.
  void on_failed_by_peer(protocol::LaneId id, bool too_slow);
  // All that one carried is consumed, and the peer, who dialled it, wants it ended.
  void on_retired(protocol::LaneId id);
  // The peer let nothing go by one, and we sent a segment all the same. A line at WARN. Not with a lane's claim held.
  void on_overridden(protocol::LaneId id, const protocol::CreditWindow::Override& how) const;

  // --- what was found so far
  // No lane is heard, though one should be.
  bool peer_is_silent();
  // As SessionHealth's.
  std::vector<RailPair> pairs_that_carried();
  // To be called when lanes were lost: notes when each pair lost its last one.
  void note_lost_pairs();
  // Pairs of rails that lost a lane for being too slow, or are about to, since the last call.
  std::vector<RailPair> take_slow_pairs();
  // Losses of lanes since the last call.
  std::vector<LaneLoss> take_losses();

 private:
  struct Birth {  // of a lane
    protocol::LaneId id = 0;
    RailPair rails;
    std::unique_ptr<wire::PendingLane> pending;
    bool doubtful = false;
    TimePoint given_up_at{};
  };

  bool drive_lane(LaneDriver& lane, std::size_t budget_bytes, bool flush, bool& blocked) RW_RELEASE(lane);
  // session_lanes_births.cc
  void poll_births();
  void stand(const Birth& birth, std::unique_ptr<wire::Lane> lane);
  Result<std::unique_ptr<wire::Lane>> poll(Birth& birth) const;
  void not_made(const Birth& birth, const Status& why);
  // session_lanes_poll.cc
  void find_late_control(TimePoint t);
  SessionHealth::Observations observe() const;
  void drop_gone(SessionHealth::Observations& seen) const;
  void ask(const SessionHealth::Verdicts& verdicts);
  void note_question(const SessionHealth::Verdicts& verdicts);
  void end_if_grace_is_over(TimePoint t);
  void log_silence(bool is_silent);
  void log_stopped() const;
  void poll_ending();
  // session_lanes_end.cc. REQUIRES: the lane's claim. The first three: it is open; finish(): it is ending
  void note_break(LaneDriver& lane, const LaneDriver::Pass& pass) RW_REQUIRES(lane);
  LaneEnding given_up(LaneDriver& lane, std::string_view told, bool too_slow) RW_REQUIRES(lane);
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
  TimePoint looked_at_{}, control_polled_at_{};  // the thread's of poll(), as are
  std::vector<Birth> births_;
  std::vector<protocol::LaneId> not_made_;  // lanes that never came about
  bool any_retires_ = false;
  std::uint64_t links_down_ = 0;  // rails' bits
};

}  // namespace railweave::engine
