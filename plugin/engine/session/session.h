// A session between two instances as the engine has it: its streams, who may drive it and when (decision D5), and how
// it ends.
//
// Threads: callable from any thread unless it says otherwise. The session's mutex is SharedProtocol's, held for
// bookkeeping only, never across a system call; lane claims come before it. Callers borrow progress: while they poll,
// the reactor only looks in; when they stop, it takes over (session_watch.h). Lanes, and what is heard of the peer, are
// SessionLanes'; what is said of them here is said there in full.
// Life: shared by its streams and the engine's table. After fail() every request has ended and lanes close.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/without_memory.h"
#include "engine/admission/secret.h"
#include "engine/runtime/fork_guard.h"
#include "engine/runtime/reactor.h"
#include "engine/session/session_lanes.h"
#include "engine/session/session_owner.h"
#include "engine/session/shared_protocol.h"
#include "protocol/session_protocol.h"
#include "railweave/config.h"
#include "railweave/stats.h"

namespace railweave::engine {

class Session final : public std::enable_shared_from_this<Session>, public Wakeable, private LanesOwner {
 public:
  // `peer` names the other side in messages: "host pid 123". `secret`: what lanes that join show, where there is a key.
  // `by_rails`: its lanes are connections, and others may take their places; else its one lane is all there will be.
  Session(const Config& config, SessionOwner& owner, std::string peer, std::uint64_t serial,
          std::optional<Secret> secret = {}, bool by_rails = true);

  const std::string& peer() const { return peer_; }
  TimePoint now() const { return protocol_.now(); }  // by its engine's clock
  std::uint64_t serial() const { return serial_; }   // drawn by the dialler of its first lane; names it in handshakes
  const Secret* secret() const { return secret_ ? &*secret_ : nullptr; }
  bool forked() const { return origin_.in_child(); }  // no call is of use in a forked child
  bool over() const { return protocol_.is_over(); }
  // A stream was opened in it, by either side, and not refused.
  bool used() const { return used_.load(std::memory_order_relaxed); }
  // The peer said something in it.
  bool was_heard() const { return lanes_.was_heard(); }
  // Takes streams: not over, nor about to be because the two ends disagree.
  bool serves() const { return protocol_.serves(); }

  // --- lanes (session_lanes.h). Those that add, list and judge them: one thread at a time (the reactor's).
  // LaneReconciler and PeerProbe work with them.
  SessionLanes& lanes() { return lanes_; }
  bool add_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane, bool doubtful = false) {
    return lanes_.add_lane(id, rails, std::move(lane), doubtful);
  }
  void begin_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::PendingLane> pending,
                  bool doubtful) {
    lanes_.begin_lane(id, rails, std::move(pending), doubtful);
  }
  bool any_lane_is_pending() const { return lanes_.any_is_pending(); }
  // There is one of that number, or was, or it is on its way.
  bool had_lane(protocol::LaneId id) { return lanes_.was_begun(id) || protocol_.had_lane(id); }
  // The pair of rails of each open lane.
  std::vector<RailPair> rails_of_lanes() const { return lanes_.table().rails_of_lanes(); }
  int open_lanes() const { return int(rails_of_lanes().size()); }
  std::vector<RailPair> pairs_that_carried() { return lanes_.pairs_that_carried(); }
  void note_lost_pairs() { lanes_.note_lost_pairs(); }
  // Places of lanes, of closed ones, too; never shrinks or moves.
  int lane_count() const { return lanes_.table().count(); }
  LaneDriver& lane(int index) const { return lanes_.table().at(index); }
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
  // Counts in stats() until closed. For stream ends, which open() and accept() make.
  void enlist(const Inbox& inbox) {
    const MutexLock lock(inboxes_mutex_);
    inboxes_.push_back(&inbox);
  }

  // --- progress without a caller (session_watch.h)
  using Driven = SessionLanes::Driven;
  // `flush`: nothing waits for company.
  Driven drive(std::size_t budget_bytes, bool flush);
  // On the reactor's thread: what is heard of the lanes, and what follows from it. `at_once`: something has happened;
  // else not more often than is worth it.
  void find_signs(bool at_once = false) { lanes_.poll(at_once); }
  // Some lane may hold up control: find_signs() is worth a call every Session::kLatePoll.
  bool watches_control() { return protocol_.watches_control(); }
  // On the same thread.
  void announce_link(int rail, bool up) { lanes_.announce_link(rail, up); }
  bool has_link(int rail) const { return lanes_.has_link(rail); }
  std::vector<LaneLoss> take_losses() { return lanes_.take_losses(); }
  bool peer_is_silent() { return lanes_.peer_is_silent(); }
  // To the peer, of one of ours; and what it said of its own since the last call.
  void announce_rail(protocol::RailUpdates::Statement news);
  std::vector<protocol::RailUpdates::Statement> drain_rail_updates();
  // Something waits to be written, or a lane is on its way, or ending: look again soon. Of the thread that adds lanes.
  bool has_work() { return protocol_.has_work() || lanes_.any_is_pending() || lanes_.table().any_is_ending(); }
  // drive() should be called by then though nothing arrives, for a peer may wait to be told what it may send.
  TimePoint credit_due() const;
  bool take_polled() { return polled_.exchange(false, std::memory_order_relaxed); }
  void set_borrowed(bool borrowed) { borrowed_.store(borrowed, std::memory_order_seq_cst); }
  // The reactor is about to look: who finds work from now on asks again.
  void clear_wake() { wake_asked_.store(false, std::memory_order_seq_cst); }

  // What finds no memory in `act` may be half done: the session ends then (LanesOwner).
  using LanesOwner::guarded;

  // --- ending. The first error sticks; every request ends with it. Waits for memory where there is none.
  void fail(const Status& why) override;
  // Fails with "connection to PEER lost: `why`".
  void lose(const std::string& why, int system_errno = 0) override;
  // Another one of the same peer takes its place. Streams that nobody answered yet are opened there.
  void give_way();
  void say_goodbye() { protocol_.lock().say_goodbye(); }
  bool goodbye_written() { return protocol_.goodbye_written(); }
  bool is_without_lanes() { return protocol_.is_without_lanes(); }
  bool is_waited_for() { return is_waited_for(protocol_.lock()); }  // some request needs the peer
  bool is_leaving() { return protocol_.is_leaving(); }              // a goodbye was said, by either side
  // On all lanes, unacknowledged by the peer's kernel.
  std::uint64_t outstanding_bytes() const { return lanes_.table().outstanding_bytes(); }

  // No claim, no session's mutex, no system call.
  SessionStats stats() const;

 private:
  using Opening = std::pair<protocol::StreamId, std::shared_ptr<PendingStream>>;
  template <class ProtocolStream>
  static constexpr bool kSends = std::is_same_v<ProtocolStream, protocol::SendStream>;

  // As the owner of its lanes.
  bool is_waited_for(const SharedProtocol::Locked& locked) override;
  void wake() noexcept override { ask_for(poll_wanted_); }
  void on_wake() override { owner_.on_woken(*this, take_wants()); }
  void on_lane_wanted() override { ask_for(lanes_wanted_); }
  void on_lane_came() override;
  std::unique_ptr<LaneCredit> credit_on(int rail) override { return owner_.credit_on(rail); }
  bool may_warn_of_silence(bool is_silent) override { return owner_.may_warn_of_silence(is_silent); }
  void announce_loss(const Status& why) override;

  // Sets one of the flags that make SessionWants, and wakes the reactor. Neither allocates nor locks: a session without
  // memory asks for its end like this, too.
  void ask_for(std::atomic<bool>& what) noexcept {
    what.store(true, std::memory_order_release);
    owner_.wake_for(shared_from_this());
  }
  SessionWants take_wants();
  void delist(const Inbox& inbox);
  void ask_reactor();
  void handle_events();
  void handle_event(const protocol::Event& event);
  void accept(const protocol::Event& event);
  void stream_opened(const protocol::Event& event);
  bool may_open_elsewhere(const Status& why) const;
  void end_late_posts();  // of callers who did not know yet that the session is over

  const std::string peer_;
  const std::uint64_t serial_;
  const std::optional<Secret> secret_;
  SessionOwner& owner_;
  const ProcessOrigin origin_;

  SharedProtocol protocol_;
  UnderProtocol<std::vector<Opening>> openings_;                     // streams of ours that are not answered
  mutable Mutex inboxes_mutex_;                                      // taken inside the session's, too
  std::vector<const Inbox*> inboxes_ RW_GUARDED_BY(inboxes_mutex_);  // of streams not closed yet
  SessionLanes lanes_;

  std::atomic<bool> polled_{false};      // a caller was here since the reactor's last look
  std::atomic<bool> borrowed_{false};    // the reactor looks in by timer
  std::atomic<bool> wake_asked_{false};  // it was asked to look and has not begun to
  std::atomic<bool> used_{false};
  std::atomic<bool> reported_{false};  // the log has said why it ended
  // What take_wants() has not taken yet.
  std::atomic<bool> poll_wanted_{false};      // set by wake()
  std::atomic<bool> is_to_retire_{false};     // by fail()
  std::atomic<bool> lanes_wanted_{false};     // by on_lane_wanted()
  std::atomic<bool> rails_announced_{false};  // by an event
};

template <class ProtocolStream>
void Session::withdraw(ProtocolStream& stream, const Inbox& inbox, std::span<const std::byte> range) {
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
  lanes_.withdraw(stream.id(), kSends<ProtocolStream>, range);
  wake();
}

template <class ProtocolStream>
void Session::close(ProtocolStream& stream, const Inbox& inbox, const std::vector<std::span<const std::byte>>& ranges) {
  const protocol::StreamId id = stream.id();  // close() may forget it
  std::shared_ptr<PendingStream> abandoned;   // outlives the lock
  bool closed = false;
  until_memory([&] {
    const SharedProtocol::Locked locked = protocol_.lock();
    if constexpr (kSends<ProtocolStream>) {
      std::vector<Opening>& openings = openings_(locked);
      const auto opening = std::ranges::find(openings, id, &Opening::first);
      if (opening != openings.end()) abandoned = std::move(opening->second), openings.erase(opening);
    }
    delist(inbox);
    locked.take_posts();
    if (!closed) locked->close(stream);
    closed = true;
    locked.publish();
  });
  for (const auto& range : ranges) lanes_.withdraw(id, kSends<ProtocolStream>, range);
  wake();
}

}  // namespace railweave::engine
