// A protocol session on real lanes: who may drive it, and when (decision D5).
//
// Threads: callable from any thread unless it says otherwise. The session's mutex is protocol_'s: shared_protocol.h. Callers borrow progress: while they poll, the reactor only looks
// in; when they stop, it takes over (session_watch.h).
// Life: shared by its streams and the engine's table. After fail() every request has ended and lanes close.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/without_memory.h"
#include "engine/admission/secret.h"
#include "engine/fork_guard.h"
#include "engine/lane_driver.h"
#include "engine/lane_hope.h"
#include "engine/lane_signs.h"
#include "engine/lane_table.h"
#include "engine/peer_pulse.h"
#include "engine/recall.h"
#include "engine/session_owner.h"
#include "engine/shared_protocol.h"
#include "protocol/session.h"
#include "railweave/config.h"
#include "railweave/stats.h"

namespace railweave::engine {

// A lane that is gone, though nobody left: of which of our rails, and why.
struct LaneLoss {
  int rail = 0;
  std::string cause;  // empty: the log has said it
};

class LiveSession : public std::enable_shared_from_this<LiveSession> {
 public:
  // `peer` names the other side in messages: "host pid 123". `secret`: what lanes that join show, where there is a key. `by_rails`: its
  // lanes are connections, and others may take their places; else its one lane is all there will be.
  LiveSession(const Config& config, SessionOwner& owner, std::string peer, std::uint64_t serial, std::optional<Secret> secret = {},
              bool by_rails = true);

  const std::string& peer() const { return peer_; }
  TimePoint now() const { return protocol_.now(); }        // by its engine's clock
  std::uint64_t serial() const { return serial_; }  // drawn by the dialler of its first lane; names it in handshakes
  const Secret* secret() const { return secret_ ? &*secret_ : nullptr; }
  bool forked() const { return birthplace_.left(); }  // no call is of use in a forked child
  bool over() const { return protocol_.is_over(); }
  // A stream was opened in it, by either side, and not refused.
  bool used() const { return used_.load(std::memory_order_relaxed); }
  // The peer said something in it.
  bool was_heard() const { return arrivals_.was_heard(); }
  // Takes streams: not over, nor about to be because the two ends disagree.
  bool serves() const { return protocol_.serves(); }

  // --- lanes. Those that add, list and judge them: one thread at a time (the reactor's).
  // Takes the place of one that is closed, or a new one. False: no room for another. `doubtful`: see Session::add_lane().
  bool add_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane, bool doubtful = false);
  // There is one of that number, or was.
  bool had_lane(protocol::LaneId id);
  // Of each lane that is not closed.
  std::vector<RailPair> rails_of_lanes() const { return lanes_.rails_of_lanes(); }
  int open_lanes() const { return int(rails_of_lanes().size()); }
  // Rail pairs that have a lane now or had one earlier.
  std::vector<RailPair> pairs_that_carried() const;
  // A refused connection, or an answer that denies the session, counts as the peer's own word when it comes by this pair: the pair has a lane,
  // or had one when the peer was heard last. A pair whose lanes were lost before that may lead to a firewall, or to another host.
  bool speaks_for_peer(const RailPair& rails) const;
  // To be called when lanes were lost: notes when each pair lost its last one.
  void note_lost_pairs();
  // The peer asked by a new connection whether we are there.
  void on_knock();
  // These lanes retire from now on, and no others (docs/reliability.md, "Stand-ins"). For the side that dials.
  void retire(const std::vector<Surplus>& surplus);
  // A lane is being dialled; the peer may use it, and leave, before we have it. While one is, losing the others ends nothing.
  void join_began();
  void join_ended();
  // Places of lanes, of closed ones, too; never shrinks or moves.
  int lane_count() const { return lanes_.count(); }
  LaneDriver& lane(int index) const { return lanes_.at(index); }
  void close_lanes() { lanes_.close(); }

  // --- streams
  void open(std::shared_ptr<PendingStream> pending);
  void posted(Inbox& inbox);
  // A fixed quantum of progress on behalf of a caller.
  void progress();
  // After return no lane touches `range` of this stream any more, nor will.
  template <class ProtocolStream>
  void withdraw(ProtocolStream& stream, const Inbox& inbox, std::span<const std::byte> range);
  // The stream is forgotten, and no lane touches `ranges` (memory of its unfinished requests) any more.
  template <class ProtocolStream>
  void close(ProtocolStream& stream, const Inbox& inbox, const std::vector<std::span<const std::byte>>& ranges);
  // Counts in stats() until closed. REQUIRES: called by open() and accept() only, which make stream ends.
  void enlist(const Inbox& inbox) { inboxes_.push_back(&inbox); }

  // --- progress without a caller (session_watch.h)
  struct Driven {
    bool moved = false;    // bytes, or a lane was lost: there may be more to do
    bool missed = false;   // another thread held a lane's claim
  };
  // `flush`: nothing waits for company.
  Driven drive(std::size_t budget_bytes, bool flush);
  // On the reactor's thread: what is heard of the lanes, and what follows from it. `at_once`: something has happened; else
  // not more often than is worth it.
  void look_for_signs(bool at_once = false);
  // Some lane may hold up control: look_for_signs() is worth a call every Session::kLateLook.
  bool watches_control();
  // One of our rails has no link, or has one again. On the same thread.
  void tell_link(int rail, bool up);
  bool has_link(int rail) const { return (links_down_ >> rail & 1) == 0; }
  // Pairs of rails that lost a lane for being too slow, or are about to, since the last call.
  std::vector<RailPair> take_slow_pairs();
  // Of lanes, since the last call.
  std::vector<LaneLoss> take_losses();
  // To the peer, of one of ours; and what it said of its own since the last call.
  void tell_rail(protocol::RailNews::Statement news);
  std::vector<protocol::RailNews::Statement> take_told_rails();
  // No lane is heard, though one should be.
  bool peer_is_silent() const { return peer_is_silent_; }
  bool has_work();                               // something waits to be written
  bool take_polled() { return polled_.exchange(false, std::memory_order_relaxed); }
  void set_borrowed(bool borrowed) { borrowed_.store(borrowed, std::memory_order_seq_cst); }
  // The reactor is about to look: who finds work from now on asks again.
  void hear_wake() { wake_asked_.store(false, std::memory_order_seq_cst); }

  // --- ending. The first error sticks; every request ends with it. Waits for memory where there is none.
  void fail(const Status& why);
  // Fails with "connection to PEER lost: `why`".
  void lose(const std::string& why, int system_errno = 0);
  // Another one of the same peer takes its place. Streams that nobody answered yet are opened there.
  void give_way();
  void say_goodbye();
  bool goodbye_written();
  bool is_without_lanes();
  bool is_waited_for();                          // some request needs the peer
  bool is_leaving();                             // a goodbye was said, by either side
  std::uint64_t outstanding_bytes() { return lanes_.outstanding_bytes(); }  // on all lanes, unacknowledged by the peer's kernel

  SessionStats stats();

 private:
  template <class ProtocolStream>
  static constexpr bool kSends = std::is_same_v<ProtocolStream, protocol::SendStream>;

  Driven drive_lanes(std::size_t budget_bytes, bool flush);
  void wake() noexcept;
  bool somebody_waits(const SharedProtocol::Locked& locked) const;  // Some request or opening needs the peer
  void end_retired(protocol::LaneId lane);
  void heed(LaneDriver& lane, const LaneDriver::Pass& pass);
  bool came_through(bool payload);
  bool drive_lane(LaneDriver& lane, std::size_t budget_bytes, bool flush, bool& blocked);
  void ask_reactor();
  void handle_events();
  void handle_event(const protocol::Event& event);
  void accept(const protocol::Event& event);
  void stream_opened(const protocol::Event& event);
  std::optional<LaneSign> sign_of(LaneDriver& lane);
  void look_for_late_control(TimePoint t);
  enum class Why { unanswered, too_slow, lent };  // lent: the kernel reads memory that was given back
  void give_up(LaneDriver& lane, Why why);
  void give_up_claimed(LaneDriver& lane, Why why);  // REQUIRES: lane's claim, and it is open
  void recall_slow_lanes(TimePoint t, const std::vector<std::optional<LaneSign>>& signs);
  void remember_slow(const RailPair& rails);
  void look_for_pulse(TimePoint t, const std::vector<std::optional<LaneSign>>& lanes);
  void end_if_hopeless(TimePoint t);
  void tell_silence(bool is_silent);
  void lane_over(LaneDriver& lane, const Status& why, bool malformed, bool too_slow = false);
  void note_loss(LaneDriver& lane, const Status& why, bool malformed);
  bool may_open_elsewhere(const Status& why) const;
  bool second_malformed();        // REQUIRES: protocol_.lock(). Counts one; true when the last was within a minute
  void end_late_posts();                    // of callers who did not know yet that the session is over
  void tell_loss(const Status& why);        // warns, once for all streams
  // `sends`: what lanes read for streams; else what they write for this one (its memory may be another's by now).
  void withdraw_from_lanes(protocol::StreamId stream, bool sends, std::span<const std::byte> range);

  const std::string peer_;
  const std::uint64_t serial_;
  const std::optional<Secret> secret_;
  SessionOwner& owner_;
  const Birthplace birthplace_;

  SharedProtocol protocol_;
  ArrivalFlags arrivals_;
  std::vector<std::pair<protocol::StreamId, std::shared_ptr<PendingStream>>> openings_;  // guarded by protocol_.lock()
  std::vector<const Inbox*> inboxes_;       // of streams not closed yet; guarded by protocol_.lock()
  std::optional<std::uint64_t> segments_at_damage_;  // guarded by protocol_.lock(): exchanged when wrong bytes that are no payload came last
  TimePoint malformed_at_ = TimePoint::min();  // guarded by protocol_.lock(): when the last malformed frame came
  LaneHope hope_;                           // guarded by protocol_.lock()
  const Nanos peer_timeout_;
  const Nanos stall_timeout_;
  std::vector<RailPair> slow_pairs_;        // guarded by protocol_.lock()
  std::vector<LaneLoss> losses_;            // likewise
  struct Carried {
    RailPair rails;
    std::optional<TimePoint> lost_at;       // its last lane; none: it has one
  };
  std::vector<Carried> carried_;            // the reactor's thread's, as are
  TimePoint heard_at_ = TimePoint::min();   // on any lane
  TimePoint knocked_at_ = TimePoint::min();
  Recall recall_;
  PeerPulse pulse_;
  Question question_;
  TimePoint signs_looked_at_{}, control_looked_at_{};
  bool peer_is_silent_ = false;
  bool any_retires_ = false;
  std::uint64_t links_down_ = 0;            // rails' bits
  const bool by_rails_;
  LaneTable lanes_;

  std::atomic<bool> polled_{false};         // a caller was here since the reactor's last look
  std::atomic<bool> borrowed_{false};       // the reactor looks in by timer
  std::atomic<bool> wake_asked_{false};     // it was asked to look and has not begun to
  std::atomic<bool> used_{false};
  std::atomic<bool> told_{false};
  std::atomic<bool> rails_told_{false};     // the owner was told of rails and has not taken what was told
};

template <class ProtocolStream>
void LiveSession::withdraw(ProtocolStream& stream, const Inbox& inbox, std::span<const std::byte> range) {
  bool failed = false;
  until_memory([&] {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked.take_posts();
    const bool touched = locked->withdraw(stream, range);
    const bool held = !touched && inbox.holds(range);
    if (held) locked->cancel(stream);
    failed = touched || stream.failed();
    if (held) locked.take_posts();
    locked.publish();
  });
  if (!failed) return;
  withdraw_from_lanes(stream.id(), kSends<ProtocolStream>, range);
  wake();
}

template <class ProtocolStream>
void LiveSession::close(ProtocolStream& stream, const Inbox& inbox, const std::vector<std::span<const std::byte>>& ranges) {
  const protocol::StreamId id = stream.id();  // close() may forget it
  std::shared_ptr<PendingStream> abandoned;   // outlives the lock
  bool closed = false;
  until_memory([&] {
    const SharedProtocol::Locked locked = protocol_.lock();
    if constexpr (kSends<ProtocolStream>) {
      const auto opening = std::ranges::find(openings_, id, [](const auto& o) { return o.first; });
      if (opening != openings_.end()) abandoned = std::move(opening->second), openings_.erase(opening);
    }
    std::erase(inboxes_, &inbox);
    locked.take_posts();
    if (!closed) locked->close(stream);
    closed = true;
    locked.publish();
  });
  for (const auto& range : ranges) withdraw_from_lanes(id, kSends<ProtocolStream>, range);
  wake();
}

}  // namespace railweave::engine
