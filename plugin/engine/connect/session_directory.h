// Which session, or which dial that is under way, serves a peer; and who waits for it.
//
// Threads: any, unless it says otherwise. The mutex guards both tables, so that a stream finds a session, or a dial, or
// begins one; it comes before a session's mutex and is never held across a system call that may wait. Dials are the
// reactor's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "engine/api/stream_setup.h"
#include "engine/connect/dial.h"
#include "engine/connect/peer_key.h"
#include "engine/runtime/reactor.h"
#include "engine/session/session.h"

namespace railweave::engine {

class SessionDirectory {
 public:
  using Waiters = std::vector<std::shared_ptr<PendingStream>>;
  // A dial of ours got through: the session of that serial begins with `lane`, and the waiters are to be opened in it.
  // Reactor's thread.
  using Welcomed = std::function<void(const PeerKey& key, const Hello& welcome, std::uint64_t serial, NewLane lane,
                                      Waiters waiters)>;

  // `self` outlives it. `ended`: what waits when the engine ends fails with.
  SessionDirectory(Reactor& reactor, const Identity& self, Status ended, Welcomed welcomed);

  // In the session that is there, or is being dialled, or is dialled for it.
  void open(const std::shared_ptr<PendingStream>& pending);
  // The session that it was opened in ended unanswered, with `why`: in another one, a little later.
  void open_again(std::shared_ptr<PendingStream> pending, const Status& why);

  // Not over. Null: there is none.
  std::shared_ptr<Session> find(const PeerKey& key) const;
  std::vector<std::shared_ptr<Session>> sessions() const;
  // The next one in the order of keys, for whoever has no memory for a copy of the table. `after`: none at first. Null:
  // that was the last.
  std::shared_ptr<Session> next(std::optional<PeerKey>& after) const;

  // --- reactor's thread
  // Returns the session whose place it takes, if there is one.
  std::shared_ptr<Session> put(const PeerKey& key, std::shared_ptr<Session> session);
  void remove(const std::shared_ptr<Session>& session);
  // Both dial, and ours stays: the greater instance's, unless it is old and leads nowhere.
  bool our_dial_stays(const PeerKey& key) const;
  // A dial that crossed, or that a connect() began while a session of another serial was being accepted: its waiters
  // are served there.
  void yield_other_dial(const PeerKey& key, std::uint64_t serial);
  // Nothing is dialled from now on, and what waits fails.
  void stop_dialling();

  // No thread but the caller's is left. Every session fails.
  void fail_all();

 private:
  std::unique_ptr<Dial> make_dial(const PeerKey& key, const HandleContent& peer);
  void begin_dial(const PeerKey& key, const HandleContent& peer, const Waiters& waiters) RW_REQUIRES(mutex_);
  void start_dial(const PeerKey& key);
  void on_welcome(const PeerKey& key, const Hello& welcome, NewLane lane);
  void on_dial_over(const PeerKey& key, const Status& status);
  void open_a_little_later(const std::shared_ptr<PendingStream>& pending, const Status& why);

  Reactor& reactor_;
  const Identity& self_;
  const Status ended_;
  const Welcomed welcomed_;
  mutable Mutex mutex_;
  std::map<PeerKey, std::shared_ptr<Session>> sessions_ RW_GUARDED_BY(mutex_);
  std::map<PeerKey, std::unique_ptr<Dial>> dials_ RW_GUARDED_BY(mutex_);
  bool stopped_ = false;  // reactor's
};

// The key of a session that we dial.
PeerKey key_for_dial(const Identity& self, const InstanceId& peer, int traffic_class);
// The key of a session whose dialler said `hello`.
PeerKey key_of_dialler(const Identity& self, const Hello& hello);

}  // namespace railweave::engine
