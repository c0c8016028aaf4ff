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
      protocol_({.eager_limit_bytes = config.eager_limit_bytes}), hope_(config.peer_timeout),
      peer_timeout_(config.peer_timeout), stall_timeout_(config.stall_timeout), pulse_(config.stall_timeout), by_rails_(by_rails),
      sends_checked_(config.checksum), encrypts_(config.encrypt) {
  events_.reserve(64);
}

// ------------------------------------------------------------------------------------------------------------ streams

void LiveSession::open(std::shared_ptr<PendingStream> pending) {
  used_.store(true, std::memory_order_relaxed);
  try {
    const std::lock_guard lock(mutex_);
    if (!protocol_.error().ok()) return pending->fail(protocol_.error());
    protocol::SendStream& stream = protocol_.open_stream(pending->priority, pending->peer.listener, pending->rail_mask);
    openings_.emplace_back(stream.id(), pending);
    pending->on_opening(shared_from_this(), std::make_unique<SendEnd>(shared_from_this(), stream));
    publish();
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
  ready_.add(inbox);
  ask_reactor();
}

// What a caller did or left undone is the reactor's to see, should no caller come back. While borrowed it comes anyway.
void LiveSession::ask_reactor() {
  if (borrowed_.load(std::memory_order_seq_cst)) return;
  polled_.store(true, std::memory_order_relaxed);
  if (!wake_asked_.exchange(true, std::memory_order_seq_cst)) wake();
}

void LiveSession::take_posts() {
  if (ready_.empty()) return;
  // When a post finds no memory, the inboxes that are left go back in.
  struct Rest {
    ReadySet& ready;
    ReadyNode* node;
    Inbox* current = nullptr;
    ~Rest() {
      if (current) ready.add(*current);
      while (node != nullptr) {
        ReadyNode& left = *node;
        node = ReadySet::release(left);
        ready.add(left);
      }
    }
  } rest{ready_, ready_.take_all()};
  while (rest.node != nullptr) {
    Inbox& inbox = static_cast<Inbox&>(*rest.node);
    rest.node = ReadySet::release(inbox);
    rest.current = &inbox;
    if (!inbox.drain(protocol_)) ready_.add(inbox);
    rest.current = nullptr;
  }
  publish();
}

void LiveSession::publish() {
  for (protocol::Completion& c : protocol_.completions()) {
    Request& request = *static_cast<Request*>(c.request);
    late_failure_ |= over() && !c.status.ok();
    request.bytes = c.bytes;
    request.tag = c.tag;
    request.status = std::move(c.status);
    request.state.store(Request::State::done, std::memory_order_release);
  }
  protocol_.completions().clear();
  may_write_.store(protocol_.has_data() || protocol_.has_control() || protocol_.has_lazy(), std::memory_order_relaxed);
  if (protocol_.events().empty()) return;
  const std::size_t events = events_.size() + protocol_.events().size();
  if (events > events_.capacity()) events_.reserve(2 * events);  // first what may throw: none may come twice
  std::ranges::move(protocol_.events(), std::back_inserter(events_));
  protocol_.events().clear();
  has_events_.store(true, std::memory_order_relaxed);
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
  const int lanes = lane_count();
  for (int i = 0; i < lanes; ++i) {
    if (!lanes_[i]->try_claim()) {
      result.missed = true;
      continue;
    }
    result.moved |= drive_lane(*lanes_[i], budget_bytes, flush, blocked);
  }
  if (blocked && every_lane_is_blocked()) {
    const std::lock_guard lock(mutex_);
    protocol_.publish_without_acks();
    publish();
  }
  if (over()) end_late_posts();
  if (has_events_.load(std::memory_order_relaxed)) handle_events();
  return result;
}

// Of those that are left, also the ones in other hands: an ack may still go by a lane that is not.
bool LiveSession::every_lane_is_blocked() const {
  bool any = false;
  for (int i = 0; i < lane_count(); ++i) {
    if (lanes_[i]->descriptor() < 0) continue;
    if (!lanes_[i]->blocked()) return false;
    any = true;
  }
  return any;
}

void LiveSession::end_late_posts() {
  Status why;
  {
    const std::lock_guard lock(mutex_);
    take_posts();
    if (std::exchange(late_failure_, false)) why = protocol_.error();
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
    if (pass.blocked || !pass.status.ok() || turn > 0 || ready_.empty() || !lane.try_claim()) return moved;
  }
}

bool LiveSession::has_work() {
  if (!ready_.empty()) return true;
  const std::lock_guard lock(mutex_);
  return protocol_.has_data() || protocol_.has_control() || protocol_.has_lazy();
}

// ------------------------------------------------------------------------------------------------------------- events

void LiveSession::handle_events() {
  std::vector<protocol::Event> events;
  {
    const std::lock_guard lock(mutex_);
    events.swap(events_);
    has_events_.store(false, std::memory_order_relaxed);
  }
  for (const protocol::Event& event : events) handle_event(event);
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
      for (int i = 0; i < lane_count(); ++i) {
        if (lanes_[i]->id() != event.lane) continue;
        const auto claim = lanes_[i]->claimed();
        if (lanes_[i]->id() != event.lane || !lanes_[i]->open()) continue;  // another's place since, or over
        if (event.too_slow) remember_slow(lanes_[i]->rails());
        {
          const std::lock_guard lock(mutex_);
          if (!protocol_.is_retiring(event.lane)) hope_.raise(now());
        }
        lane_over(*lanes_[i], Status(Code::remote, Scope::lane, event.too_slow ? "too slow, says the peer" : "the peer gave it up"), false);
      }
  }
}

void LiveSession::stream_opened(const protocol::Event& event) {
  std::shared_ptr<PendingStream> pending;
  {
    const std::lock_guard lock(mutex_);
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
    const std::lock_guard lock(mutex_);
    if (room) {
      used_.store(true, std::memory_order_relaxed);
      protocol::RecvStream& stream = protocol_.accept_stream(event.stream, queue->rail_mask(), slots != nullptr);
      end = std::make_unique<RecvEnd>(shared_from_this(), stream);
    } else {
      protocol_.refuse_stream(event.stream, queue ? "its backlog is full" : "no such listener (closed already?)");
    }
    publish();
  }
  if (end) queue->push(std::move(end), std::move(slots));
  wake();
}

// ------------------------------------------------------------------------------------------------------------- ending

void LiveSession::fail(const Status& why) {
  std::vector<std::pair<protocol::StreamId, std::shared_ptr<PendingStream>>> openings;
  bool missed = false, first = false;
  const bool elsewhere = may_open_elsewhere(why);
  broken_.store(true, std::memory_order_release);
  until_memory([&] {  // or requests would never end
    {
      const std::lock_guard lock(mutex_);
      if (over()) return;
      take_posts();
      missed = missed || somebody_waits();
    }
    if (missed && !elsewhere) tell_loss(why);  // before any request ends: who sees one fail finds the reason in the log
    const std::lock_guard lock(mutex_);
    if (over()) return;
    protocol_.fail(why);
    publish();
    openings.swap(openings_);
    over_.store(true, std::memory_order_release);
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
bool LiveSession::somebody_waits() {
  if (leaving_ || protocol_.peer_said_goodbye()) return false;
  std::uint64_t sends = 0, receives = 0;
  protocol_.count_unfinished(sends, receives);
  return sends + receives + openings_.size() > 0;
}

void LiveSession::say_goodbye() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  protocol_.say_goodbye();
  publish();
}

bool LiveSession::goodbye_written() {
  const std::lock_guard lock(mutex_);
  return protocol_.goodbye_written();
}

bool LiveSession::is_without_lanes() {
  const std::lock_guard lock(mutex_);
  return protocol_.live_lanes() == 0;
}

bool LiveSession::is_waited_for() {
  const std::lock_guard lock(mutex_);
  return somebody_waits();
}

bool LiveSession::is_leaving() {
  const std::lock_guard lock(mutex_);
  return leaving_ || protocol_.peer_said_goodbye();
}

std::uint64_t LiveSession::outstanding_bytes() {
  std::uint64_t sum = 0;
  for (int i = 0; i < lane_count(); ++i) {
    const auto claim = lanes_[i]->claimed();
    sum += lanes_[i]->outstanding_bytes();
  }
  return sum;
}

SessionStats LiveSession::stats() {
  SessionStats s;
  s.peer = peer_;
  for (int i = 0; i < lane_count(); ++i) {
    const auto claim = lanes_[i]->claimed();
    s.lanes.push_back(lanes_[i]->stats());
  }
  const std::lock_guard lock(mutex_);
  s.lanes.insert(s.lanes.end(), gone_.begin(), gone_.end());
  s.send_streams = std::uint32_t(protocol_.send_streams());
  s.recv_streams = std::uint32_t(protocol_.recv_streams());
  protocol_.count_unfinished(s.sends_pending, s.recvs_pending);
  s.control_frames = protocol_.control_frames();
  s.control_frames_said_again = protocol_.control_frames_said_again();
  TimePoint oldest = TimePoint::max();
  for (const Inbox* inbox : inboxes_) oldest = std::min(oldest, inbox->oldest_post());
  if (oldest != TimePoint::max()) s.oldest_request_age = now() - oldest;
  return s;
}

}  // namespace railweave::engine
