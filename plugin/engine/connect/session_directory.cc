#include "engine/connect/session_directory.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "base/without_memory.h"

namespace railweave::engine {
namespace {

// after the end of a session that the peer never answered
constexpr Nanos kOpenAgainAfter = std::chrono::milliseconds(100);
// age from which our own dial leads nowhere, so that a dial that crosses it is accepted
constexpr Nanos kGiveWay = std::chrono::seconds(1);

}  // namespace

PeerKey key_for_dial(const Identity& self, const InstanceId& peer, int traffic_class) {
  return {peer, traffic_class, peer == self.instance ? PeerKey::Half::dialler : PeerKey::Half::whole};
}

PeerKey key_of_dialler(const Identity& self, const Hello& hello) {
  return {hello.from, hello.traffic_class,
          hello.from == self.instance ? PeerKey::Half::acceptor : PeerKey::Half::whole};
}

SessionDirectory::SessionDirectory(Reactor& reactor, const Identity& self, Status ended, Welcomed welcomed)
    : reactor_(reactor), self_(self), ended_(std::move(ended)), welcomed_(std::move(welcomed)) {}

// ----------------------------------------------------------------------------------------------------- opening streams

void SessionDirectory::open(const std::shared_ptr<PendingStream>& pending) {
  const PeerKey key = key_for_dial(self_, pending->peer.instance, pending->traffic_class);
  std::shared_ptr<Session> session;
  {
    const MutexLock lock(mutex_);
    if (const auto it = sessions_.find(key); it != sessions_.end() && it->second->serves()) session = it->second;
    if (const auto it = dials_.find(key); !session && it != dials_.end()) {
      it->second->add_waiter(pending);
    } else if (!session) {
      begin_dial(key, pending->peer, {pending});
    }
  }
  if (session) session->open(pending);
}

void SessionDirectory::open_again(std::shared_ptr<PendingStream> pending, const Status& why) {
  pending->leave_session();
  until_memory([&] { reactor_.run_soon([this, pending, why] { open_a_little_later(pending, why); }); });
}

// Waits first, because the cause of the session's end may last.
void SessionDirectory::open_a_little_later(const std::shared_ptr<PendingStream>& pending, const Status& why) {
  if (stopped_ || now() + kOpenAgainAfter >= pending->deadline) return pending->fail(stopped_ ? ended_ : why);
  const auto open_now = [this, pending] {
    if (stopped_) return pending->fail(ended_);
    if (pending->given_up()) return;
    try {
      open(pending);
    } catch (const std::bad_alloc&) {
      pending->fail(out_of_memory());
    }
  };
  until_memory([&] { reactor_.at(now() + kOpenAgainAfter, open_now); });
}

// ------------------------------------------------------------------------------------------------------------ dialling

std::unique_ptr<Dial> SessionDirectory::make_dial(const PeerKey& key, const HandleContent& peer) {
  return std::make_unique<Dial>(
      reactor_, self_, peer, key.traffic_class,
      Dial::Callbacks{
          .welcomed = [this, key](const Hello& welcome, NewLane lane) { on_welcome(key, welcome, std::move(lane)); },
          .over = [this, key](const Status& status) { on_dial_over(key, status); }});
}

// REQUIRES: no dial has the key. Throws std::bad_alloc; no dial is left behind then that is never started.
void SessionDirectory::begin_dial(const PeerKey& key, const HandleContent& peer, const Waiters& waiters) {
  std::unique_ptr<Dial> dial = make_dial(key, peer);
  for (const auto& waiter : waiters) dial->add_waiter(waiter);
  reactor_.run_soon([this, key] { start_dial(key); });
  dials_.emplace(key, std::move(dial));
}

void SessionDirectory::start_dial(const PeerKey& key) {
  Dial* dial = nullptr;
  {
    const MutexLock lock(mutex_);
    const auto it = dials_.find(key);
    if (it != dials_.end()) dial = it->second.get();
  }
  if (dial && !stopped_) dial->start();
}

void SessionDirectory::on_welcome(const PeerKey& key, const Hello& welcome, NewLane lane) {
  Waiters waiters;
  std::uint64_t serial = 0;
  {
    const MutexLock lock(mutex_);
    Dial& dial = *dials_.at(key);
    waiters = dial.take_waiters();
    serial = dial.serial();
  }
  welcomed_(key, welcome, serial, std::move(lane), std::move(waiters));
}

void SessionDirectory::on_dial_over(const PeerKey& key, const Status& status) {
  std::shared_ptr<Dial> dial;
  // The dial runs a callback of its own, so a later task destroys it.
  ScopeExit later([&] { until_memory([&] { reactor_.run_soon([dial] {}); }); });
  Waiters waiters;
  std::shared_ptr<Session> session;
  Status why = status.ok() ? ended_ : status;
  {
    const MutexLock lock(mutex_);
    const auto it = dials_.find(key);
    if (it == dials_.end()) return later.dismiss();
    until_memory([&] { dial = std::move(it->second); });
    dials_.erase(it);
    waiters = dial->take_waiters();
    if (const auto s = sessions_.find(key); s != sessions_.end() && s->second->serves()) session = s->second;
    // These waiters came while the other lanes of a session were dialled, which has failed since. No dial was made for
    // them yet.
    if (status.ok() && !session && !waiters.empty() && !stopped_) {
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

bool SessionDirectory::our_dial_stays(const PeerKey& key) const {
  const MutexLock lock(mutex_);
  const auto dial = dials_.find(key);
  return dial != dials_.end() && key.peer < self_.instance && now() - dial->second->began_at() < kGiveWay;
}

void SessionDirectory::yield_other_dial(const PeerKey& key, std::uint64_t serial) {
  Dial* other = nullptr;
  {
    const MutexLock lock(mutex_);
    const auto it = dials_.find(key);
    if (it != dials_.end() && it->second->serial() != serial) other = it->second.get();
  }
  if (other) other->yield();
}

void SessionDirectory::stop_dialling() {
  stopped_ = true;
  std::map<PeerKey, std::unique_ptr<Dial>> dials;
  {
    const MutexLock lock(mutex_);
    dials.swap(dials_);
  }
  for (auto& [key, dial] : dials)
    for (auto& waiter : dial->take_waiters()) waiter->fail(ended_);
}

// ------------------------------------------------------------------------------------------------------------ sessions

std::shared_ptr<Session> SessionDirectory::find(const PeerKey& key) const {
  const MutexLock lock(mutex_);
  const auto it = sessions_.find(key);
  return it == sessions_.end() || it->second->over() ? nullptr : it->second;
}

std::vector<std::shared_ptr<Session>> SessionDirectory::sessions() const {
  std::vector<std::shared_ptr<Session>> sessions;
  const MutexLock lock(mutex_);
  for (const auto& [key, session] : sessions_) sessions.push_back(session);
  return sessions;
}

std::shared_ptr<Session> SessionDirectory::next(std::optional<PeerKey>& after) const {
  const MutexLock lock(mutex_);
  const auto it = after ? sessions_.upper_bound(*after) : sessions_.begin();
  if (it == sessions_.end()) return nullptr;
  after = it->first;
  return it->second;
}

std::shared_ptr<Session> SessionDirectory::put(const PeerKey& key, std::shared_ptr<Session> session) {
  const MutexLock lock(mutex_);
  return std::exchange(sessions_[key], std::move(session));
}

void SessionDirectory::remove(const std::shared_ptr<Session>& session) {
  const MutexLock lock(mutex_);
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second == session; });
}

void SessionDirectory::fail_all() {
  std::map<PeerKey, std::shared_ptr<Session>> sessions;
  {
    const MutexLock lock(mutex_);
    sessions.swap(sessions_);
  }
  for (auto& [key, session] : sessions) session->fail(ended_);
}

}  // namespace railweave::engine
