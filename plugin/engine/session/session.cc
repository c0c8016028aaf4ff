#include "engine/session/session.h"

#include <algorithm>

#include "base/log.h"
#include "engine/api/listen_queue.h"
#include "engine/api/pending_stream.h"

namespace railweave::engine {
namespace {

constexpr std::size_t kCallerBudgetBytes = 512 * KiB;

}  // namespace

Session::Session(const Config& config, SessionOwner& owner, std::string peer, std::uint64_t serial,
                 std::optional<Secret> secret, bool by_rails)
    : peer_(std::move(peer)),
      serial_(serial),
      secret_(std::move(secret)),
      owner_(owner),
      protocol_({.eager_limit_bytes = config.eager_limit_bytes}, owner.clock()),
      lanes_(protocol_, *this, peer_,
             {{serial, config.checksum, config.encrypt},
              {config.peer_timeout, config.stall_timeout},
              by_rails,
              time_of_pending_lane(config)}) {}

// ------------------------------------------------------------------------------------------------------------- streams

void Session::open(std::shared_ptr<PendingStream> pending) {
  used_.store(true, std::memory_order_relaxed);
  Status refused;
  const bool whole = guarded([&] {  // without memory the session may have a stream without a stream end
    std::unique_ptr<SendEnd> end;   // before `locked`: its destructor takes the session's mutex
    const SharedProtocol::Locked locked = protocol_.lock();
    if (!locked->error().ok()) return void(refused = locked->error());
    protocol::SendStream& stream = locked->open_stream(pending->priority, pending->peer.listener, pending->rail_mask);
    openings_(locked).emplace_back(stream.id(), pending);
    end = std::make_unique<SendEnd>(shared_from_this(), stream);
    end->enlist();
    pending->on_opening(shared_from_this(), std::move(end));
    locked.publish();
  });
  if (!whole) return pending->fail(out_of_memory());
  refused.ok() ? wake() : pending->fail(refused);
}

void Session::on_lane_came() { owner_.on_lane_came(shared_from_this()); }

void Session::posted(Inbox& inbox) {
  protocol_.add_post(inbox);
  ask_reactor();
}

// Wakes the reactor, since no caller may come back for the work that is left. While borrowed the reactor polls by timer
// anyway.
void Session::ask_reactor() {
  if (borrowed_.load(std::memory_order_seq_cst)) return;
  polled_.store(true, std::memory_order_relaxed);
  if (!wake_asked_.exchange(true, std::memory_order_seq_cst)) wake();
}

// ------------------------------------------------------------------------------------------------------------ progress

void Session::progress() {
  polled_.store(true, std::memory_order_relaxed);
  if (drive(kCallerBudgetBytes, false).moved) ask_reactor();
}

Session::Driven Session::drive(std::size_t budget_bytes, bool flush) {
  Driven driven{.moved = true};
  (void)guarded([&] {
    const Driven seen = lanes_.drive(budget_bytes, flush);
    if (over()) end_late_posts();
    if (protocol_.has_events()) handle_events();
    driven = seen;
  });
  return driven;
}

void Session::end_late_posts() {
  Status why;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked.take_posts();
    if (locked.take_late_failure()) why = locked->error();
  }
  if (!why.ok()) log_loss(why);
}

// -------------------------------------------------------------------------------------------------------------- events

void Session::handle_events() {
  for (const protocol::Event& event : protocol_.take_events()) handle_event(event);
}

void Session::handle_event(const protocol::Event& event) {
  switch (event.kind) {
    case protocol::Event::Kind::opened: return stream_opened(event);
    case protocol::Event::Kind::incoming: return accept(event);
    case protocol::Event::Kind::goodbye: return;
    case protocol::Event::Kind::rails_announced: return ask_for(rails_announced_);
    case protocol::Event::Kind::overridden: return lanes_.on_overridden(event.lane, event.how);
    case protocol::Event::Kind::lane_retired: return lanes_.on_retired(event.lane);
    case protocol::Event::Kind::lane_failed_by_peer: return lanes_.on_failed_by_peer(event.lane, event.too_slow);
  }
}

void Session::stream_opened(const protocol::Event& event) {
  std::shared_ptr<PendingStream> pending;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    std::vector<Opening>& openings = openings_(locked);
    const auto it = std::ranges::find(openings, event.stream, &Opening::first);
    if (it == openings.end()) return;
    pending = std::move(it->second);
    openings.erase(it);
  }
  event.status.ok() ? pending->on_opened() : pending->fail(event.status);
}

void Session::accept(const protocol::Event& event) {
  const std::shared_ptr<ListenQueue> queue = owner_.find_listener(std::uint32_t(event.listener));
  const bool room = queue && queue->has_room();
  SlotBudget::Share slots = room ? queue->take_slots() : nullptr;
  std::unique_ptr<RecvEnd> end;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    if (room) {
      used_.store(true, std::memory_order_relaxed);
      protocol::RecvStream& stream = locked->accept_stream(event.stream, queue->rail_mask(), slots != nullptr);
      end = std::make_unique<RecvEnd>(shared_from_this(), stream);
      end->enlist();
    } else {
      locked->refuse_stream(event.stream, queue ? "its backlog is full" : "no such listener (closed already?)");
    }
    locked.publish();
  }
  if (end) queue->push(std::move(end), std::move(slots));
  wake();
}

// -------------------------------------------------------------------------------------------------------------- ending

void Session::fail(const Status& why) {
  std::vector<Opening> openings;
  bool missed = false, first = false;
  const bool elsewhere = may_open_elsewhere(why);
  protocol_.mark_broken();
  until_memory([&] {  // otherwise requests would never end
    {
      const SharedProtocol::Locked locked = protocol_.lock();
      if (over()) return;
      locked.take_posts();
      missed = missed || is_waited_for(locked);
    }
    if (missed && !elsewhere)
      log_loss(why);  // before any request ends: a caller whose request fails finds the reason in the log
    const SharedProtocol::Locked locked = protocol_.lock();
    if (over()) return;
    locked.fail(why);
    openings.swap(openings_(locked));
    first = true;
  });
  if (!first) return;
  ask_for(is_to_retire_);  // before calls that may throw std::bad_alloc
  for (auto& [id, pending] : openings) elsewhere ? owner_.on_unanswered(std::move(pending), why) : pending->fail(why);
  if ((!missed || elsewhere) && why.code() != Code::cancelled) RW_INFO(net, "{}", why.message());
}

// If the peer never said anything in this session, the peer may never have had the session. Then the session's end does
// not show that the peer is lost.
bool Session::may_open_elsewhere(const Status& why) const {
  return !was_heard() && (why.code() == Code::remote || why.code() == Code::timed_out);
}

void Session::lose(const std::string& why, int system_errno) {
  fail(Status(Code::remote, Scope::session, "connection to " + peer_ + " lost: " + why, system_errno));
}

void Session::give_way() {
  fail(Status(Code::remote, Scope::session, "the session with " + peer_ + " gave way to another"));
}

void Session::log_loss(const Status& why) {
  if (why.code() == Code::cancelled || logged_.exchange(true, std::memory_order_relaxed)) return;
  if (used() || owner_.warns_of_unused())
    RW_WARN(net, "{}", why.message());
  else
    RW_INFO(net, "{}", why.message());
}

// A peer may leave without error when no request and no unanswered stream is left, with GOODBYE or by exiting.
bool Session::is_waited_for(const SharedProtocol::Locked& locked) {
  if (locked.is_leaving()) return false;
  std::uint64_t sends = 0, receives = 0;
  locked->count_unfinished(sends, receives);
  return sends + receives + openings_(locked).size() > 0;
}

// -------------------------------------------------------------------------------------------------- rails and counters

void Session::announce_rail(protocol::RailUpdates::Statement news) {
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked->announce_rail(std::move(news));
    locked.publish();
  }
  wake();
}

std::vector<protocol::RailUpdates::Statement> Session::drain_rail_updates() {
  return protocol_.lock()->drain_rail_updates();
}

SessionWants Session::take_wants() {
  const auto take = [](std::atomic<bool>& what) { return what.exchange(false, std::memory_order_acq_rel); };
  return {.poll = take(poll_wanted_),
          .retire = take(is_to_retire_),
          .lanes = take(lanes_wanted_),
          .apply_rails = take(rails_announced_)};
}

void Session::delist(const Inbox& inbox) {
  const MutexLock lock(inboxes_mutex_);
  std::erase(inboxes_, &inbox);
}

SessionStats Session::stats() const {
  SessionStats s;
  s.peer = peer_;
  s.lanes = lanes_.table().stats();
  const SessionMetrics& metrics = protocol_.metrics();
  s.send_streams = std::uint32_t(metrics.send_streams.value());
  s.recv_streams = std::uint32_t(metrics.recv_streams.value());
  s.control_frames = metrics.control_frames.value();
  s.control_frames_retransmitted = metrics.control_frames_retransmitted.value();
  TimePoint oldest = TimePoint::max();
  const MutexLock lock(inboxes_mutex_);
  for (const Inbox* inbox : inboxes_) {
    const Inbox::Unfinished unfinished = inbox->unfinished();
    s.sends_pending += unfinished.sends;
    s.recvs_pending += unfinished.receives;
    oldest = std::min(oldest, unfinished.oldest_post);
  }
  if (oldest != TimePoint::max()) s.oldest_request_age = now() - oldest;
  return s;
}

TimePoint Session::credit_due() const {
  TimePoint due = TimePoint::max();
  for (int i = 0; i < lane_count(); ++i) due = std::min(due, lane(i).credit_due());
  return due;
}

}  // namespace railweave::engine
