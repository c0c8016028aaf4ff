// The dialler's side of the engine: who waits for which session, and what becomes of those whose session the peer never answered.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "base/without_memory.h"
#include "engine/host_engine.h"

namespace railweave::engine {
namespace {

constexpr Nanos kOpenAgainAfter = std::chrono::milliseconds(100);  // the end of a session that was never answered

}  // namespace

PeerKey HostEngine::key_for_dial(const InstanceId& peer, int traffic_class) const {
  return {peer, traffic_class, peer == self_.instance ? PeerKey::Half::dialler : PeerKey::Half::whole};
}

std::unique_ptr<Dial> HostEngine::make_dial(const PeerKey& key, const HandleContent& peer) {
  return std::make_unique<Dial>(
      reactor_, self_, peer, key.traffic_class,
      Dial::Callbacks{.welcomed = [this, key](const Hello& welcome, NewLane lane) { on_welcome(key, welcome, std::move(lane)); },
                      .over = [this, key](const Status& status) { on_dial_over(key, status); }});
}

// In the session that is there, or is being dialled, or is dialled for it. Any thread.
void HostEngine::open_in_session(const std::shared_ptr<PendingStream>& pending) {
  const PeerKey key = key_for_dial(pending->peer.instance, pending->traffic_class);
  std::shared_ptr<LiveSession> session;
  {
    const std::lock_guard lock(table_mutex_);
    if (const auto it = sessions_.find(key); it != sessions_.end() && it->second->serves()) session = it->second;
    if (const auto it = dials_.find(key); !session && it != dials_.end()) {
      it->second->add_waiter(pending);
    } else if (!session) {
      begin_dial(key, pending->peer, {pending});
    }
  }
  if (session) session->open(pending);
}

void HostEngine::on_unanswered(std::shared_ptr<PendingStream> pending, const Status& why) {
  pending->leave_session();
  until_memory([&] { reactor_.run_soon([this, pending, why] { open_again(pending, why); }); });
}

// Not at once: what ended the session may last.
void HostEngine::open_again(const std::shared_ptr<PendingStream>& pending, const Status& why) {
  if (leaving_ || now() + kOpenAgainAfter >= pending->deadline) return pending->fail(leaving_ ? ended_ : why);
  const auto open = [this, pending] {
    if (leaving_) return pending->fail(ended_);
    if (pending->given_up()) return;
    try {
      open_in_session(pending);
    } catch (const std::bad_alloc&) {
      pending->fail(out_of_memory());
    }
  };
  until_memory([&] { reactor_.at(now() + kOpenAgainAfter, open); });
}

// REQUIRES: table_mutex_; no dial has the key. Whatever finds no memory, no dial stays behind that nobody starts.
void HostEngine::begin_dial(const PeerKey& key, const HandleContent& peer,
                            const std::vector<std::shared_ptr<PendingStream>>& waiters) {
  std::unique_ptr<Dial> dial = make_dial(key, peer);
  for (const auto& waiter : waiters) dial->add_waiter(waiter);
  reactor_.run_soon([this, key] { start_dial(key); });
  dials_.emplace(key, std::move(dial));
}

void HostEngine::start_dial(const PeerKey& key) {
  Dial* dial = nullptr;
  {
    const std::lock_guard lock(table_mutex_);
    const auto it = dials_.find(key);
    if (it != dials_.end()) dial = it->second.get();
  }
  if (dial && !leaving_) dial->start();
}

void HostEngine::on_dial_over(const PeerKey& key, const Status& status) {
  std::shared_ptr<Dial> dial;
  // The dial is running a callback of its own: it dies when that has returned.
  ScopeExit later([&] { until_memory([&] { reactor_.run_soon([dial] {}); }); });
  std::vector<std::shared_ptr<PendingStream>> waiters;
  std::shared_ptr<LiveSession> session;
  Status why = status.ok() ? ended_ : status;
  {
    const std::lock_guard lock(table_mutex_);
    const auto it = dials_.find(key);
    if (it == dials_.end()) return later.dismiss();
    until_memory([&] { dial = std::move(it->second); });
    dials_.erase(it);
    waiters = dial->take_waiters();
    if (const auto s = sessions_.find(key); s != sessions_.end() && s->second->serves()) session = s->second;
    // They came while the other lanes of a session were dialled that has failed since: nobody has dialled for them yet.
    if (status.ok() && !session && !waiters.empty() && !leaving_) {
      try {
        begin_dial(key, dial->peer(), waiters);
        waiters.clear();
      } catch (const std::bad_alloc&) {
        why = out_of_memory();
      }
    }
  }
  for (auto& waiter : waiters) {
    if (session) {
      session->open(waiter);
    } else {
      waiter->fail(why);
    }
  }
}

void HostEngine::on_welcome(const PeerKey& key, const Hello& welcome, NewLane lane) {
  std::vector<std::shared_ptr<PendingStream>> waiters;
  std::uint64_t serial = 0;
  {
    const std::lock_guard lock(table_mutex_);
    Dial& dial = *dials_.at(key);
    waiters = dial.take_waiters();
    serial = dial.serial();
  }
  const bool by_rails = lane.by_rails;
  const RailPair rails = lane.rails;
  const int dialled_rail = lane.dialled_rail;
  const auto session = add_session(key, welcome, serial, std::move(lane), std::move(waiters));
  if (!by_rails) return;
  LaneUpkeep& upkeep = *upkeeps_.emplace(session.get(), std::make_unique<LaneUpkeep>(
      reactor_, self_, key.peer, key.traffic_class, session, welcome.rails, rails, dialled_rail, absence_told_,
      [this](LiveSession& joined, NewLane joining) { add_lane(joined, std::move(joining)); })).first->second;
  absent_rails_.at(session.get())->know(upkeep.failures(), upkeep.peer_rails());
  upkeep.look();
}

// A dial that crossed, or that a connect() began while this session was being accepted: its waiters are served here.
void HostEngine::yield_other_dial(const PeerKey& key, std::uint64_t serial) {
  Dial* other = nullptr;
  {
    const std::lock_guard lock(table_mutex_);
    const auto it = dials_.find(key);
    if (it != dials_.end() && it->second->serial() != serial) other = it->second.get();
  }
  if (other) other->yield();
}

}  // namespace railweave::engine
