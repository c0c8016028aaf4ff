// A session between two instances, as the engine has it: its streams, which thread drives the session and when
// (decision D5), and how the session ends.
//
// Threads: any, unless a call says otherwise. The session's mutex is SharedProtocol's (shared_protocol.h says for what
// the mutex is held). A lane's claim is taken before the mutex. Callers borrow progress: while callers poll, the
// reactor only polls by timer; when callers stop, the reactor takes over (session_watch.h). SessionLanes has the lanes
// and judges the peer; session_lanes.h has the full contracts of the calls that are repeated here.
// Lifetime: shared by its streams and the engine's table. After fail() every request has ended and lanes close.
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
  // `peer` names the other side in messages: "host pid 123". `secret`: what joining lanes must present, if there is a
  // key. `by_rails`: lanes are connections, and new lanes may replace lost ones; else the session has only one lane
  // ever.
  Session(const Config& config, SessionOwner& owner, std::string peer, std::uint64_t serial,
          std::optional<Secret> secret = {}, bool by_rails = true);

  const std::string& peer() const { return peer_; }
  TimePoint now() const { return protocol_.now(); }  // by the engine's clock
  std::uint64_t serial() const { return serial_; }   // chosen by the first lane's dialler; for handshakes
  const Secret* secret() const { return secret_ ? &*secret_ : nullptr; }  // null: no key
  bool forked() const { return origin_.in_child(); }  // true in a forked child, where the session is dead
  bool over() const { return protocol_.is_over(); }
  // A stream was opened in the session, by either side, and not refused.
  bool used() const { return used_.load(std::memory_order_relaxed); }
  // The peer said something in the session.
  bool was_heard() const { return lanes_.was_heard(); }
  // The session takes streams: it is neither over nor broken by a disagreement of the two ends.
  bool serves() const { return protocol_.serves(); }

  // --- lanes (session_lanes.h). Calls that add, list or judge lanes: one thread at a time (the reactor's).
  // For LaneReconciler and PeerProbe.
  SessionLanes& lanes() { return lanes_; }
  // `doubtful`: the pair of rails failed before, or the handshake lost packets. A doubtful lane must carry padding
  // before data while another lane is better (SessionProtocol::add_lane()).
  bool add_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane, bool doubtful = false) {
    return lanes_.add_lane(id, rails, std::move(lane), doubtful);
  }
  void begin_lane(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::PendingLane> pending,
                  bool doubtful) {
    lanes_.begin_lane(id, rails, std::move(pending), doubtful);
  }
  bool any_lane_is_pending() const { return lanes_.any_is_pending(); }
  // A lane `id` exists, existed before, or is on its way.
  bool had_lane(protocol::LaneId id) { return lanes_.was_begun(id) || protocol_.had_lane(id); }
  // Returns the pair of rails of each open lane.
  std::vector<RailPair> rails_of_lanes() const { return lanes_.table().rails_of_lanes(); }
  int open_lanes() const { return int(rails_of_lanes().size()); }
  std::vector<RailPair> pairs_that_carried() { return lanes_.pairs_that_carried(); }
  void note_lost_pairs() { lanes_.note_lost_pairs(); }
  // The number of places, those of closed lanes included. Never shrinks; drivers do not move.
  int lane_count() const { return lanes_.table().count(); }
  LaneDriver& lane(int index) const { return lanes_.table().at(index); }
  void close_lanes() { lanes_.close(); }

  // --- streams
  // Opens a stream towards the peer. Errors: `pending` fails.
  void open(std::shared_ptr<PendingStream> pending);
  // `inbox` has posts. Never blocks.
  void posted(Inbox& inbox);
  // Does a fixed quantum of progress for a caller: drives each lane once.
  void progress();
  // After return no lane touches `range` for this stream, now or later. If an unfinished request uses `range`, the
  // stream ends as cancelled.
  template <class ProtocolStream>
  void withdraw(ProtocolStream& stream, const Inbox& inbox, std::span<const std::byte> range);
  // Forgets the stream. After return no lane touches `ranges`, the memory of its unfinished requests.
  template <class ProtocolStream>
  void close(ProtocolStream& stream, const Inbox& inbox, const std::vector<std::span<const std::byte>>& ranges);
  // Counts the stream in stats() until close(). For stream ends, which open() and accept() make.
  void enlist(const Inbox& inbox) {
    const MutexLock lock(inboxes_mutex_);
    inboxes_.push_back(&inbox);
  }

  // --- progress without a caller (session_watch.h)
  using Driven = SessionLanes::Driven;
  // `budget_bytes`: read at most about so many from each lane. `flush`: lazy frames do not wait for others.
  Driven drive(std::size_t budget_bytes, bool flush);
  // Polls the lanes' health and acts on the verdicts. Reactor's thread. `at_once`: an event happened; else lanes are
  // judged every 50 ms at most.
  void poll_lanes(bool at_once = false) { lanes_.poll(at_once); }
  // Some lane may hold up control frames: call poll_lanes() every SessionProtocol::kLatePoll.
  bool watches_control() { return protocol_.watches_control(); }
  // Reactor's thread, as the next three.
  void set_link(int rail, bool up) { lanes_.set_link(rail, up); }
  bool has_link(int rail) const { return lanes_.has_link(rail); }
  std::vector<LaneLoss> take_losses() { return lanes_.take_losses(); }
  bool peer_is_silent() { return lanes_.peer_is_silent(); }
  // Announces one of our rails to the peer.
  void announce_rail(protocol::RailUpdates::Statement news);
  // Returns what the peer announced of its rails since the last call.
  std::vector<protocol::RailUpdates::Statement> drain_rail_updates();
  // Frames wait to be written, or a lane is on its way or ending: poll again soon. On the thread that adds lanes.
  bool has_work() { return protocol_.has_work() || lanes_.any_is_pending() || lanes_.table().any_is_ending(); }
  // Call drive() by this time even if nothing arrives: a peer may wait for credit. TimePoint::max(): no such time.
  TimePoint credit_due() const;
  // Returns whether a caller polled since the last call.
  bool take_polled() { return polled_.exchange(false, std::memory_order_relaxed); }
  void set_borrowed(bool borrowed) { borrowed_.store(borrowed, std::memory_order_seq_cst); }
  // The reactor is about to poll: a thread that finds work from now on wakes the reactor again.
  void clear_wake() { wake_asked_.store(false, std::memory_order_seq_cst); }

  // If `act` finds no memory, the session ends, because its work may be half done (LanesOwner).
  using LanesOwner::guarded;

  // --- ending. The first error sticks; every request ends with it. Without memory, retries for about a second.
  void fail(const Status& why) override;
  // Fails with "connection to PEER lost: `why`".
  void lose(const std::string& why, int system_errno = 0) override;
  // Ends the session because another one with the same peer replaces it. If the peer never said anything in this
  // session, its unanswered streams are opened in the other one.
  void give_way();
  void say_goodbye() { protocol_.lock().say_goodbye(); }
  bool goodbye_written() { return protocol_.goodbye_written(); }
  bool is_without_lanes() { return protocol_.is_without_lanes(); }
  bool is_waited_for() { return is_waited_for(protocol_.lock()); }  // some request or unanswered stream needs the peer
  bool is_leaving() { return protocol_.is_leaving(); }              // either side said GOODBYE
  // On all lanes; not acknowledged by the peer's kernel.
  std::uint64_t outstanding_bytes() const { return lanes_.table().outstanding_bytes(); }

  // Takes no claim and not the session's mutex; makes no system call.
  SessionStats stats() const;

 private:
  using Opening = std::pair<protocol::StreamId, std::shared_ptr<PendingStream>>;
  template <class ProtocolStream>
  static constexpr bool kSends = std::is_same_v<ProtocolStream, protocol::SendStream>;

  // LanesOwner
  bool is_waited_for(const SharedProtocol::Locked& locked) override;
  void wake() noexcept override { ask_for(poll_wanted_); }
  void on_wake() override { owner_.on_woken(*this, take_wants()); }
  void on_lane_wanted() override { ask_for(lanes_wanted_); }
  void on_lane_came() override;
  std::unique_ptr<LaneCredit> credit_on(int rail) override { return owner_.credit_on(rail); }
  bool may_warn_of_silence(bool is_silent) override { return owner_.may_warn_of_silence(is_silent); }
  void log_loss(const Status& why) override;

  // Sets one of the flags that make SessionWants, and wakes the reactor. Neither allocates nor locks, so that a session
  // without memory can ask for its end, too.
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
  void end_late_posts();  // of callers that posted after the session was over

  const std::string peer_;
  const std::uint64_t serial_;
  const std::optional<Secret> secret_;
  SessionOwner& owner_;
  const ProcessOrigin origin_;

  SharedProtocol protocol_;
  UnderProtocol<std::vector<Opening>> openings_;                     // our streams that the peer has not answered
  mutable Mutex inboxes_mutex_;                                      // may be taken inside the session's mutex
  std::vector<const Inbox*> inboxes_ RW_GUARDED_BY(inboxes_mutex_);  // of streams that are not closed
  SessionLanes lanes_;

  std::atomic<bool> polled_{false};      // a caller polled or posted since the reactor's last poll
  std::atomic<bool> borrowed_{false};    // callers poll; the reactor polls by timer
  std::atomic<bool> wake_asked_{false};  // the reactor was woken and has not begun to poll
  std::atomic<bool> used_{false};
  std::atomic<bool> logged_{false};  // the log has the reason of the end
  // Flags that take_wants() takes and clears.
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
  const protocol::StreamId id = stream.id();  // read first: close() may destroy `stream`
  std::shared_ptr<PendingStream> abandoned;   // destroyed after the lock is released
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
