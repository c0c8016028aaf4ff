// The wires of this build, and the ports that an engine opened on them. wires.cc has the table of wires: no other file
// of the engine names a wire.
//
// A lane goes by the first wire of the dialler's list that both ends have for it. The dialler begins a lane on each
// wire that it can use, and offers all of them in its Hello. The acceptor takes the first that it can use, too. A wire
// that was agreed on and brought no lane is left out for a while, so the next dial goes by another one.
//
// Threads: the reactor's only. Lifetime: outlives the pending lanes made here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "engine/connect/hello.h"
#include "engine/rails/wire_history.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "wire/port.h"

namespace railweave::engine {

// Whether a wire can be used on a rail.
struct WireOnRail {
  std::string name;
  Status why_not;  // ok: it can be used
  wire::PinnedBytes pinned = {};
};

class Wires {
 public:
  // Uses the wires that Config::wires names, in its order. `config` outlives this object.
  explicit Wires(const Config& config);
  // The same with wires of the caller's, for tests.
  Wires(const Config& config, std::vector<const wire::Wire*> wires);

  // Errors: invalid_config if no wire between hosts is left (RAILWEAVE_ENCRYPT refuses those that cannot encrypt).
  Status check() const;
  // Opens the ports of our rail `rail`: the next index, or a known rail that has changed. A wire that cannot be opened
  // is left out, and logged at WARN.
  void know_rail(int rail, const Rail& is);
  // Tells of each wire between hosts of this build whether it can be used on a rail, for people. Opens ports.
  static std::vector<WireOnRail> describe(const Rail& rail, const Config& config);

  // A lane that was begun on some wires, and what the handshake carries to the peer for it.
  struct Candidate {
    const wire::Wire* wire = nullptr;
    std::unique_ptr<wire::PendingLane> pending = {};
    std::vector<std::byte> offer = {};
  };
  struct Begun {
    std::vector<Candidate> candidates = {};  // in the order of preference; exactly one once both ends agreed
    OwnedFd descriptor = OwnedFd();          // sent beside the Hello, within a host

    // The offers of the Hello. None if the plain wire is the only candidate.
    std::vector<WireOffer> offers() const;
    // REQUIRES: both ends agreed.
    std::unique_ptr<wire::PendingLane> take_agreed();
    std::string_view agreed_wire() const;
    bool is_plain() const;  // both ends agreed on the plain wire
  };
  // Begins the dialler's end of a lane to `peer`, from our rail `rail`, or to a process of this host (kWithinHost).
  // Wires that can begin no lane now, or brought none lately (WireHistory), are left out. If another wire can, they are
  // logged: at WARN the first time.
  // `better_than`: offers only wires that the list has before this one; empty: all. Errors: those of Port::begin_lane()
  // if none can.
  static constexpr int kWithinHost = -1;
  Result<Begun> dial(int rail, const InstanceId& peer, std::string_view better_than = {});
  // True: on our rail `rail` the list has a wire before `wire` by which lanes came up to `peer`, from any rail. A wire
  // that is left out counts, too: its time comes by the caller's own waits (wire_upgrade.h).
  bool has_better(int rail, const InstanceId& peer, std::string_view wire);
  // Begins the acceptor's end, on the first wire offered that can be used here: a wire whose offer does not suit this
  // end, such as one of another libfabric, is left out. Without an offer the dialler has the plain wire only. Logs as
  // dial(). Errors: invalid_config (no wire in common; the message names those of both ends), or that of the last
  // wire in common: Code::remote (an offer that does not suit, or is malformed), exhausted, system.
  Result<Begun> accept(int rail, const InstanceId& peer, const std::vector<WireOffer>& offered,
                       OwnedFd descriptor = OwnedFd());
  // Completes the dialler's end with the acceptor's answer, and drops the other candidates. Errors: Code::remote if the
  // answer is by a wire that was not offered; as PendingLane::complete().
  static Status agree(Begun& begun, const std::vector<WireOffer>& answered);

 private:
  struct OpenPort {
    const wire::Wire* wire = nullptr;
    std::unique_ptr<wire::Port> port;
    bool has_warned = false;  // that it could begin no lane
  };
  struct Ports {
    std::string of;                   // "rail eth0", for messages
    std::vector<OpenPort> open = {};  // in the order of preference; only ports that could be opened
    std::string closed = {};          // the others, with the reasons; for errors
  };

  Ports open(const Rail* rail) const;
  Ports& ports_of(int rail);
  std::span<OpenPort> ports_before(int rail, std::string_view wire);
  Result<Candidate> begin(const OpenPort& open, wire::Port::Role role, int rail, const InstanceId& peer) const;
  Result<Begun> accept_on(const OpenPort& open, int rail, const InstanceId& peer, wire::Offer received) const;
  Status lately_failed(const OpenPort& open, int rail, const InstanceId& peer) const;
  static void log_left_out(OpenPort& open, const std::string& of, const Status& why);

  const Config& config_;
  const std::vector<const wire::Wire*> wires_;
  const std::shared_ptr<WireHistory> history_;  // pending lanes note here what came of them
  Ports within_host_;
  std::vector<Ports> by_rail_;
};

}  // namespace railweave::engine
