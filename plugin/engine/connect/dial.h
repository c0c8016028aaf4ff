// Reaching one peer: the first lane, which makes the session. The others are LaneReconciler's.
//
// Where shared memory is on, the instance's local socket is tried first; the one lane that comes of it is all.
//
//   dialling → welcomed: the session is there → done
//            → yielding: the peer dials us, too, and its dial stays (the greater id's), → done when it arrives
//            → failed: every address refused or stayed silent, in every round, or the deadline passed;
//              or in one round nobody answered but who has no key in common with us
//
// On the reactor's thread only, except add_waiter() (under the directory's mutex).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/stream_setup.h"
#include "engine/connect/handshake.h"
#include "engine/connect/identity.h"
#include "engine/connect/new_lane.h"
#include "engine/reconcile/lane_plan.h"
#include "railweave/config.h"
#include "railweave/status.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {

// Its numbers become indices here, and anybody may have sent them. Errors: Code::remote, naming what is wrong.
Status check_welcome(const Hello& welcome);

// Features of our Hellos.
std::uint64_t features(const Identity& self);
// What is wrong where the two ends differ, said by one that does or does not encrypt itself.
const char* encryption_differs(bool we_encrypt);

// Why a connection by this route would lead nowhere: the kernel has no route by the rail from its address. Empty: it
// has, or does not say.
std::string why_no_route(const Rail& rail, const Route& route);
// How to dial from a rail to the other end of `route`.
wire::DialSpec dial_spec(const Identity& self, const Rail& rail, const Route& route, int traffic_class);
// Asks `peer` to take the connection into `session` as lane `lane`.
Hello join_hello(const Identity& self, const InstanceId& peer, std::uint64_t session, int traffic_class,
                 protocol::LaneId lane, const RailPair& rails);

class Dial {
 public:
  struct Callbacks {
    // The first lane is there, and confirmed.
    std::function<void(const Hello& welcome, NewLane lane)> welcomed;
    // Nothing more will happen. Not ok: no session came of it. May destroy the dial.
    std::function<void(Status)> over;
  };

  Dial(Reactor& reactor, const Identity& self, HandleContent peer, int traffic_class, Callbacks callbacks);
  ~Dial();

  std::uint64_t serial() const { return serial_; }
  const HandleContent& peer() const { return peer_; }
  TimePoint began_at() const { return began_at_; }
  // Each has its own time.
  void add_waiter(std::shared_ptr<PendingStream> waiter);
  // Those that did not give up meanwhile.
  std::vector<std::shared_ptr<PendingStream>> take_waiters();

  void start();
  // The peer's own dial made the session: ours is not needed.
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
  // False: there is no way to the peer but by rails.
  bool dial_local();
  void on_first(Attempt& attempt, Handshake::Outcome outcome);
  Status agree(NewLane& lane, const Handshake::Outcome& welcome) const;
  void remember_failure(const Handshake::Outcome& outcome, const std::string& what);
  void finish(Status status);
  // Every way in from the reactor: without memory the dial is over, or its waiters would never hear.
  template <class Act>
  void guarded(const Act& act);

  Reactor& reactor_;
  const Identity& self_;
  const HandleContent peer_;
  const int traffic_class_;
  const Callbacks callbacks_;
  const std::uint64_t serial_;
  const TimePoint began_at_;
  std::atomic<TimePoint> deadline_;  // of the last waiter
  std::vector<std::shared_ptr<PendingStream>> waiters_;

  std::vector<std::unique_ptr<Attempt>> attempts_;  // under way
  int rounds_ = 0;
  bool yielding_ = false;
  bool local_ = false;  // the peer may be on this host
  Status last_failure_;
  // or no common mind about encryption: what somebody who was reached said of it
  Status no_common_key_;
  bool only_that_ = true;  // in this round nobody may yet turn out otherwise
  Reactor::TimerId timer_ = 0;
};

}  // namespace railweave::engine
