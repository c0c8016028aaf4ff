// Finds the session, or the dial under way, that serves a peer; holds the streams that wait for each dial.
//
// Threads: any, unless stated otherwise. The mutex guards both tables, so that a stream finds a session or a dial, or
// begins a dial. The mutex comes before a session's mutex, and is never held across a system call that may wait. Dials
// run on the reactor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "engine/api/pending_stream.h"
#include "engine/connect/dial.h"
#include "engine/connect/peer_key.h"
#include "engine/runtime/reactor.h"
#include "engine/session/session.h"

namespace railweave::engine {

class SessionDirectory {
 public:
  using Waiters = std::vector<std::shared_ptr<PendingStream>>;
  // A dial of ours was welcomed. The session of that serial begins with `lane`, and the waiters are to be opened in it.
  // Reactor's thread.
  using Welcomed = std::function<void(const PeerKey& key, const Hello& welcome, std::uint64_t serial, NewLane lane,
                                      Waiters waiters)>;

  // `reactor` and `self` outlive the directory. `ended`: the error of the streams that wait when the engine ends.
  SessionDirectory(Reactor& reactor, const Identity& self, Status ended, Welcomed welcomed);

  // Opens the stream in the session that exists, or is being dialled, or is dialled now.
  void open(const std::shared_ptr<PendingStream>& pending);
  // The session of `pending` ended unanswered, with `why`. Opens the stream in another session 100 ms later, or fails
  // it with `why` if its deadline comes before.
  void open_again(std::shared_ptr<PendingStream> pending, const Status& why);

  // Returns the session, unless it is over. Null: there is none.
  std::shared_ptr<Session> find(const PeerKey& key) const;
  std::vector<std::shared_ptr<Session>> sessions() const;
  // Returns the session behind `after` in the order of keys, for a caller without memory for a copy of the table.
  // `after`: none at first. Null: there are no more.
  std::shared_ptr<Session> next(std::optional<PeerKey>& after) const;

  // --- reactor's thread
  // Returns the session that was replaced; null: none.
  std::shared_ptr<Session> put(const PeerKey& key, std::shared_ptr<Session> session);
  void remove(const std::shared_ptr<Session>& session);
  // True: both ends dial, and our dial stays. The greater instance's dial stays, unless it is a second old and leads
  // nowhere.
  bool our_dial_stays(const PeerKey& key) const;
  // Ends a dial of another serial, which crossed, or which a connect() began while session `serial` was being accepted.
  // Its waiters are served in that session.
  void yield_other_dial(const PeerKey& key, std::uint64_t serial);
  // Dials nothing from now on, and fails all waiters.
  void stop_dialling();

  // REQUIRES: no thread but the caller's is left. Fails every session.
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
  bool stopped_ = false;  // reactor's thread only
};

// Returns the key of a session that we dial.
PeerKey key_for_dial(const Identity& self, const InstanceId& peer, int traffic_class);
// Returns the key of a session whose dialler sent `hello`.
PeerKey key_of_dialler(const Identity& self, const Hello& hello);

}  // namespace railweave::engine
