#include "engine/live_session.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "engine/stream_setup.h"

namespace railweave::engine {
namespace {

constexpr std::size_t kCallerBudgetBytes = 512 * KiB;

}  // namespace

LiveSession::LiveSession(const Config& config, SessionOwner& owner, std::string peer, std::uint64_t serial, std::optional<Secret> secret,
                         bool by_rails)
    : peer_(std::move(peer)), serial_(serial), secret_(std::move(secret)), owner_(owner),
      protocol_({.eager_limit_bytes = config.eager_limit_bytes}, owner.clock()), hope_(config.peer_timeout),
      peer_timeout_(config.peer_timeout), stall_timeout_(config.stall_timeout), pulse_(config.stall_timeout), by_rails_(by_rails),
      lanes_(protocol_, arrivals_, {serial, config.checksum, config.encrypt}) {}

// ------------------------------------------------------------------------------------------------------------ streams

void LiveSession::open(std::shared_ptr<PendingStream> pending) {
  used_.store(true, std::memory_order_relaxed);
  try {
    const SharedProtocol::Locked locked = protocol_.lock();
    if (!locked->error().ok()) return pending->fail(locked->error());
    protocol::SendStream& stream = locked->open_stream(pending->priority, pending->peer.listener, pending->rail_mask);
    openings_.emplace_back(stream.id(), pending);
    pending->on_opening(shared_from_this(), std::make_unique<SendEnd>(shared_from_this(), stream));
    locked.publish();
  } catch (const std::bad_alloc&) {  // there may be a stream without an end now
    pending->fail(out_of_memory());
    return fail(out_of_memory());
  }
  wake();
}

// Without memory to ask with, whoever drives next sees to it.
void LiveSession::wake() noexcept {
  try {
    until_memory([this] { owner_.wake_for(shared_from_this()); });
  } catch (const std::bad_alloc&) {
  }
}

void LiveSession::posted(Inbox& inbox) {
  protocol_.add_post(inbox);
  ask_reactor();
}

// What a caller did or left undone is the reactor's to see, should no caller come back. While borrowed it comes anyway.
void LiveSession::ask_reactor() {
  if (borrowed_.load(std::memory_order_seq_cst)) return;
  polled_.store(true, std::memory_order_relaxed);
  if (!wake_asked_.exchange(true, std::memory_order_seq_cst)) wake();
}

// ----------------------------------------------------------------------------------------------------------- progress

void LiveSession::progress() {
  polled_.store(true, std::memory_order_relaxed);
  if (drive(kCallerBudgetBytes, false).moved) ask_reactor();
}

LiveSession::Driven LiveSession::drive(std::size_t budget_bytes, bool flush) {
  try {
    return drive_lanes(budget_bytes, flush);
  } catch (const std::bad_alloc&) {  // a loss half handled, an event lost: nothing in the session can be relied on
    fail(out_of_memory());
    return {.moved = true};
  }
}

LiveSession::Driven LiveSession::drive_lanes(std::size_t budget_bytes, bool flush) {
  Driven result;
  bool blocked = false;
  const int lanes = lanes_.count();
  for (int i = 0; i < lanes; ++i) {
    if (!lanes_.at(i).try_claim()) {
      result.missed = true;
      continue;
    }
    result.moved |= drive_lane(lanes_.at(i), budget_bytes, flush, blocked);
  }
  if (blocked && lanes_.every_lane_is_blocked()) {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked->publish_without_acks();
    locked.publish();
  }
  if (over()) end_late_posts();
  if (protocol_.has_events()) handle_events();
  return result;
}

void LiveSession::end_late_posts() {
  Status why;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    locked.take_posts();
    if (locked.take_late_failure()) why = locked->error();
  }
  if (!why.ok()) tell_loss(why);
}

// Who releases a lane looks at the inboxes once more: a post whose try_claim() failed meanwhile is not left lying.
bool LiveSession::drive_lane(LaneDriver& lane, std::size_t budget_bytes, bool flush, bool& blocked) {
  bool moved = false;
  for (int turn = 0;; ++turn) {
    LaneDriver::Pass pass;
    {
      const LaneDriver::Claimed claim(lane);
      pass = lane.pass(budget_bytes, flush);
      moved |= pass.moved || !pass.status.ok();
      if (!pass.status.ok()) {
        heed(lane, pass);
        lane_over(lane, pass.status, pass.fault == LaneDriver::Fault::malformed);
      }
    }
    blocked |= pass.blocked;
    if (pass.blocked || !pass.status.ok() || turn > 0 || !protocol_.has_posts() || !lane.try_claim()) return moved;
  }
}

bool LiveSession::has_work() { return protocol_.has_work(); }

// ------------------------------------------------------------------------------------------------------------- events

void LiveSession::handle_events() {
  for (const protocol::Event& event : protocol_.take_events()) handle_event(event);
}

void LiveSession::handle_event(const protocol::Event& event) {
  switch (event.kind) {
    case protocol::Event::Kind::opened: return stream_opened(event);
    case protocol::Event::Kind::incoming: return accept(event);
    case protocol::Event::Kind::goodbye: return;
    case protocol::Event::Kind::rails_told:
      if (rails_told_.exchange(true, std::memory_order_acq_rel)) return;  // the owner has not looked since
      return until_memory([this] { owner_.on_rails_told(shared_from_this()); });
    case protocol::Event::Kind::lane_retired: return end_retired(event.lane);
    case protocol::Event::Kind::lane_condemned:
      return lanes_.with_lane(event.lane, [&](LaneDriver& lane) {
        if (event.too_slow) remember_slow(lane.rails());
        {
          const SharedProtocol::Locked locked = protocol_.lock();
          if (!locked->is_retiring(event.lane)) hope_.raise(now());
        }
        lane_over(lane, Status(Code::remote, Scope::lane, event.too_slow ? "too slow, says the peer" : "the peer gave it up"), false);
      });
  }
}

void LiveSession::stream_opened(const protocol::Event& event) {
  std::shared_ptr<PendingStream> pending;
  {
    const SharedProtocol::Locked locked = protocol_.lock();
    const auto it = std::ranges::find(openings_, event.stream, [](const auto& o) { return o.first; });
    if (it == openings_.end()) return;
    pending = std::move(it->second);
    openings_.erase(it);
  }
  event.status.ok() ? pending->on_opened() : pending->fail(event.status);
}

void LiveSession::accept(const protocol::Event& event) {
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
    } else {
      locked->refuse_stream(event.stream, queue ? "its backlog is full" : "no such listener (closed already?)");
    }
    locked.publish();
  }
  if (end) queue->push(std::move(end), std::move(slots));
  wake();
}

// ------------------------------------------------------------------------------------------------------------- ending

void LiveSession::fail(const Status& why) {
  std::vector<std::pair<protocol::StreamId, std::shared_ptr<PendingStream>>> openings;
  bool missed = false, first = false;
  const bool elsewhere = may_open_elsewhere(why);
  protocol_.mark_broken();
  until_memory([&] {  // or requests would never end
    {
      const SharedProtocol::Locked locked = protocol_.lock();
      if (over()) return;
      locked.take_posts();
      missed = missed || somebody_waits(locked);
    }
    if (missed && !elsewhere) tell_loss(why);  // before any request ends: who sees one fail finds the reason in the log
    const SharedProtocol::Locked locked = protocol_.lock();
    if (over()) return;
    locked.fail(why);
    openings.swap(openings_);
    first = true;
  });
  if (!first) return;
  for (auto& [id, pending] : openings) elsewhere ? owner_.on_unanswered(std::move(pending), why) : pending->fail(why);
  if ((!missed || elsewhere) && why.code() != Code::cancelled) RW_INFO(net, "{}", why.message());
  until_memory([this] { owner_.on_session_over(shared_from_this()); });
}

// A session of which the peer never spoke may be one that the peer never had: its end says nothing of the peer.
bool LiveSession::may_open_elsewhere(const Status& why) const {
  return !was_heard() && (why.code() == Code::remote || why.code() == Code::timed_out);
}

void LiveSession::give_way() { fail(Status(Code::remote, Scope::session, "the session with " + peer_ + " gave way to another")); }

void LiveSession::tell_loss(const Status& why) {
  if (why.code() == Code::cancelled || told_.exchange(true, std::memory_order_relaxed)) return;
  if (used() || owner_.warns_of_unused()) RW_WARN(net, "{}", why.message());
  else RW_INFO(net, "{}", why.message());
}

// A peer that leaves when nothing is owed either way is missed by nobody, whether it said goodbye or just exited.
bool LiveSession::somebody_waits(const SharedProtocol::Locked& locked) const {
  if (locked.is_leaving()) return false;
  std::uint64_t sends = 0, receives = 0;
  locked->count_unfinished(sends, receives);
  return sends + receives + openings_.size() > 0;
}

void LiveSession::say_goodbye() { protocol_.lock().say_goodbye(); }

bool LiveSession::goodbye_written() { return protocol_.goodbye_written(); }

bool LiveSession::is_without_lanes() { return protocol_.is_without_lanes(); }

bool LiveSession::is_waited_for() { return somebody_waits(protocol_.lock()); }

bool LiveSession::is_leaving() { return protocol_.is_leaving(); }

SessionStats LiveSession::stats() {
  SessionStats s;
  s.peer = peer_;
  s.lanes = lanes_.stats();
  const SharedProtocol::Locked locked = protocol_.lock();
  s.lanes.insert(s.lanes.end(), lanes_.gone().begin(), lanes_.gone().end());
  s.send_streams = std::uint32_t(locked->send_streams());
  s.recv_streams = std::uint32_t(locked->recv_streams());
  locked->count_unfinished(s.sends_pending, s.recvs_pending);
  s.control_frames = locked->control_frames();
  s.control_frames_said_again = locked->control_frames_said_again();
  TimePoint oldest = TimePoint::max();
  for (const Inbox* inbox : inboxes_) oldest = std::min(oldest, inbox->oldest_post());
  if (oldest != TimePoint::max()) s.oldest_request_age = now() - oldest;
  return s;
}

}  // namespace railweave::engine
