// The acceptor's side of handshakes: which connections are admitted, by which rail, and which dial stays when both ends
// dial (decision D2; docs/internals/protocol.md, "Handshake").
// Threads: the reactor's only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "engine/connect/handshake.h"
#include "engine/connect/identity.h"
#include "engine/connect/new_lane.h"
#include "engine/connect/session_directory.h"
#include "engine/connect/unconfirmed_lanes.h"
#include "engine/rails/logged_absences.h"
#include "engine/rails/own_rails.h"
#include "engine/runtime/reactor.h"
#include "engine/session/session.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {

// The engine, which takes what was accepted. Threads: the reactor's.
class AcceptorOwner {
 public:
  // `first` was welcomed and confirmed. Its session begins with `lane`.
  virtual void accept_session(const Hello& first, NewLane lane) = 0;
  // `lane` joins the session.
  virtual void add_lane(Session& session, NewLane lane) = 0;
  // True: this instance dialled the session, by rails.
  virtual bool was_dialled(const Session& session) = 0;
  // A join of a lane that `session` already had came by these rails. If this instance dialled the session, the join is
  // a peer probe.
  virtual void on_probe(const Session& session, const RailPair& by, Address::Family family,
                        const std::vector<PeerRail>& peer_rails) = 0;

 protected:
  ~AcceptorOwner() = default;
};

class Acceptor {
 public:
  // All arguments outlive the acceptor.
  Acceptor(Reactor& reactor, const Identity& self, const OwnRails& rails, const SessionDirectory& directory,
           LoggedAbsences& logged_absences, AcceptorOwner& owner);

  // Take a connection from RailListeners and from UnixListener. `dialled_rail`: our rail whose address was dialled.
  void on_connection(wire::Accepted accepted, int dialled_rail);
  void on_local_connection(OwnedFd fd);
  // Accepts nothing from now on, and closes handshakes that are under way.
  void stop();

 private:
  // Where a connection arrived: on the interface of rail `rail` (-1: no rail), for an address of rail `dialled`.
  struct Arrival {
    int rail = -1, dialled = 0;
    std::string interface;
    Address::Family family = Address::Family::v4;
  };
  Arrival arrival_of(const wire::Accepted& accepted, int dialled_rail) const;
  void on_hello(const Arrival& arrival, Handshake::Outcome outcome);
  void on_local_hello(Handshake::Outcome outcome);
  void await_hello(OwnedFd fd, std::string what, decltype(&Handshake::await) await, Handshake::Done then);
  Hello answer(const Hello& hello, Hello::Kind kind, int rail) const;
  void note_rejected(const std::string& why, bool set_up_wrongly);
  bool refused_for_encryption(const Handshake::Outcome& caller);
  void refuse(const Handshake::Outcome& caller, Hello::Refusal refusal, std::string reason);
  bool refuses_first(const Handshake::Outcome& caller);
  void accept_first(Handshake::Outcome caller, const Arrival& arrival);
  void accept_local_first(Handshake::Outcome caller, Wires::Begun begun);
  void accept_join(Handshake::Outcome caller, const Arrival& arrival);
  Status begin_lane(NewLane& lane, const Hello& hello, Hello& welcome);
  void welcome(Handshake::Outcome caller, const Arrival& arrival, NewLane lane, const Secret* secret);
  void on_confirmed(UnconfirmedLanes::Entry entry);
  void log_astray(const UnconfirmedLanes::Entry& entry);

  Reactor& reactor_;
  const Identity& self_;
  const OwnRails& rails_;
  const SessionDirectory& directory_;
  LoggedAbsences& logged_absences_;
  AcceptorOwner& owner_;
  std::map<std::uint64_t, std::unique_ptr<Handshake>> incoming_;  // in order of arrival
  std::uint64_t next_incoming_ = 0;
  UnconfirmedLanes unconfirmed_;
  TimePoint warned_rejected_{};  // when a rejection was last logged at WARN; TimePoint{}: never
  bool stopped_ = false;
};

}  // namespace railweave::engine
