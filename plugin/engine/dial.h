// Reaching one peer: the first lane that makes the session, then the other lanes of the plan.
//
// Where shared memory is on, the instance's local socket is tried first; the one lane that comes of it is all.
//
//   dialling → welcomed: the session is there, its other lanes are being dialled, → done
//            → yielding: the peer dials us at the same time and its dial stays (the greater id's), → done when it arrives
//            → failed: every address refused or stayed silent, in every round, or the deadline passed
//
// On the reactor's thread only, except add_waiter() (under the engine's table mutex).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/handshake.h"
#include "engine/lane_plan.h"
#include "engine/stream_setup.h"
#include "railweave/config.h"
#include "railweave/status.h"
#include "wire/shm/lane.h"

namespace railweave::engine {

// What a dial needs to know of its engine; constant while the engine lives.
struct Identity {
  InstanceId instance{};
  std::string name;                      // "host pid 123"
  const std::vector<Rail>* rails = nullptr;
  const std::vector<PeerRail>* announced = nullptr;  // the same with ports
  const Config* config = nullptr;
};

// Its numbers become indices here, and anybody may have sent them. Errors: Code::remote, naming what is wrong.
Status check_welcome(const Hello& welcome);

// A lane that both sides agreed on, for the session it belongs to.
struct NewLane {
  OwnedFd fd;
  protocol::LaneId id = 0;
  int local_rail = 0, remote_rail = 0;
  wire::shm::SharedObject object = {};  // there is one: a shm lane
  wire::ShmLane::End end = wire::ShmLane::End::maker;
};

class Dial {
 public:
  struct Callbacks {
    // The first lane is there. Answers the session to which the others join.
    std::function<std::shared_ptr<LiveSession>(const Hello& welcome, NewLane lane)> welcomed;
    std::function<void(LiveSession& session, NewLane lane)> joined;
    // Nothing more will happen. Not ok: no session came of it. May destroy the dial.
    std::function<void(Status)> over;
  };

  Dial(Reactor& reactor, const Identity& self, HandleContent peer, int traffic_class, Callbacks callbacks);
  ~Dial();

  std::uint64_t serial() const { return serial_; }
  const HandleContent& peer() const { return peer_; }
  // Each has the whole time that a connect has.
  void add_waiter(std::shared_ptr<PendingStream> waiter);
  // Those that did not give up meanwhile.
  std::vector<std::shared_ptr<PendingStream>> take_waiters();

  void start();
  // The peer's own dial made the session: ours is not needed.
  void yield();

 private:
  // While it lives, losing the session's other lanes ends nothing.
  class Joining {
   public:
    explicit Joining(std::shared_ptr<LiveSession> session) : session_(std::move(session)) { session_->join_began(); }
    Joining(Joining&&) = default;
    ~Joining() { if (session_) session_->join_ended(); }

   private:
    std::shared_ptr<LiveSession> session_;
  };

  struct Attempt {
    RailPair pair;                       // remote is -1 while only an address is known
    protocol::LaneId lane = 0;
    std::string what;
    std::unique_ptr<Handshake> handshake;
    std::optional<Joining> joining;
    wire::shm::SharedObject object = {};  // of a local one
  };

  Hello hello(Hello::Kind kind, const Attempt& attempt) const;
  void dial(Attempt attempt, const Route& route, Hello::Kind kind);
  void next_round();
  // False: there is no way to the peer but by rails.
  bool dial_local();
  void on_first(Attempt& attempt, Handshake::Outcome outcome);
  void on_join(Attempt& attempt, Handshake::Outcome outcome);
  void begin_joins();
  void join_pair(const RailPair& pair);
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
  std::atomic<TimePoint> deadline_;                  // of the last waiter
  std::vector<std::shared_ptr<PendingStream>> waiters_;

  std::vector<std::unique_ptr<Attempt>> attempts_;   // under way
  int rounds_ = 0;
  bool yielding_ = false;
  bool local_ = false;                               // the peer may be on this host
  Status last_failure_;
  Reactor::TimerId timer_ = 0;

  std::shared_ptr<LiveSession> session_;             // once welcomed
  std::vector<PeerRail> peer_rails_;
  std::vector<RailPair> candidates_, chosen_;
  protocol::LaneId next_lane_ = 0;
};

// How many lanes one pair of rails gets.
int lanes_per_pair(const Config& config, const Rail& local, const PeerRail& remote);

}  // namespace railweave::engine
