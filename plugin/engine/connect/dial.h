// Dials one peer: the first lane, which makes the session. LaneReconciler dials the others.
//
// Where shared memory is on, the peer's local socket is dialled first. The one lane that comes of this dial is all.
//
//   dialling → welcomed: the session is there → done
//            → yielding: the peer dials us, too, and its dial stays (the greater id's); → done when it arrives
//            → failed: every address refused or stayed silent, in every round, or the deadline passed;
//              or the only ends that answered in one round have no key or no wire in common with us
//
// Threads: the reactor's only, except add_waiter() (under the directory's mutex).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/pending_stream.h"
#include "engine/connect/handshake.h"
#include "engine/connect/identity.h"
#include "engine/connect/new_lane.h"
#include "engine/reconcile/lane_plan.h"
#include "railweave/config.h"
#include "railweave/status.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {

// Checks a welcome, whose numbers become indices here and which any process may have sent. Errors: Code::remote, with
// the value found.
Status check_welcome(const Hello& welcome);

// Returns the feature bits of our Hellos.
std::uint64_t features(const Identity& self);
// Returns the message for two ends of which one alone encrypts. `we_encrypt`: the end that reports it encrypts.
const char* encryption_differs(bool we_encrypt);

// Returns why a connection by this route would lead nowhere: the kernel has no route by the rail from its address.
// Empty: there is a route, or the kernel does not say.
std::string why_no_route(const Rail& rail, const Route& route);
// Returns how to dial the target of `route` from a rail.
wire::DialSpec dial_spec(const Identity& self, const Rail& rail, const Route& route, int traffic_class);
// Returns the Hello that asks `peer` to take the connection into `session` as lane `lane`.
Hello join_hello(const Identity& self, const InstanceId& peer, std::uint64_t session, int traffic_class,
                 protocol::LaneId lane, const RailPair& rails);

class Dial {
 public:
  struct Callbacks {
    // Both ends agreed on the first lane, and our confirm, if the lane needs one, was sent.
    std::function<void(const Hello& welcome, NewLane lane)> welcomed;
    // The dial is over. Not ok: no session came of it. The callback may destroy the dial.
    std::function<void(Status)> over;
  };

  Dial(Reactor& reactor, const Identity& self, HandleContent peer, int traffic_class, Callbacks callbacks);
  ~Dial();

  std::uint64_t serial() const { return serial_; }
  const HandleContent& peer() const { return peer_; }
  TimePoint began_at() const { return began_at_; }
  // Adds a stream that waits for the session. Each waiter has its own deadline.
  void add_waiter(std::shared_ptr<PendingStream> waiter);
  // Returns the waiters that did not give up meanwhile, and forgets all.
  std::vector<std::shared_ptr<PendingStream>> take_waiters();

  void start();
  // Ends the dial without an error, because the peer's own dial made the session.
  void yield();

 private:
  struct Attempt {
    int rail = 0;
    std::string what;
    PeerAddress target = {};
    std::unique_ptr<Handshake> handshake;
    bool by_rails = true;  // false: to a process of this host
    Wires::Begun begun = {};
  };

  Hello hello(const Attempt& attempt) const;
  Status begin_lane(Attempt& attempt, int rail);
  void dial(int rail, const Route& route);
  void next_round();
  void next_round_later();
  std::optional<Route> route_to(int rail, int address) const;
  bool leads_nowhere(int rail, const Route& route);
  // False: the peer can be dialled by rails only.
  bool dial_local();
  void on_first(Attempt& attempt, Handshake::Outcome outcome);
  Status agree(NewLane& lane, const Handshake::Outcome& welcome) const;
  void remember_failure(const Handshake::Outcome& outcome, const std::string& what);
  void finish(Status status);
  // Wraps each call that comes from the reactor. Without memory the dial fails; otherwise its waiters would wait for
  // ever.
  template <class Act>
  void guarded(const Act& act);

  Reactor& reactor_;
  const Identity& self_;
  const HandleContent peer_;
  const int traffic_class_;
  const Callbacks callbacks_;
  const std::uint64_t serial_;
  const TimePoint began_at_;
  std::atomic<TimePoint> deadline_;  // the latest of all waiters
  std::vector<std::shared_ptr<PendingStream>> waiters_;

  std::vector<std::unique_ptr<Attempt>> attempts_;  // under way
  int rounds_ = 0;
  bool yielding_ = false;
  bool local_ = false;  // the peer may be on this host
  Status last_failure_;
  // an answer which shows that the two ends have no key, no encryption setting or no wire in common; ok: none
  Status nothing_in_common_;
  // false: a failure of this round may end differently in a later one. The failure was a timeout, a missing route, a
  // lane of ours that could not begin, or a refusal for another reason than encryption.
  bool only_lasting_failures_ = true;
  Reactor::TimerId timer_ = 0;
};

}  // namespace railweave::engine
