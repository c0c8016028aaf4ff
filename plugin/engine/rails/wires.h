// The wires of this build, and the ports that an engine opened on them. wires.cc has the table of wires: no other file
// of the engine names a wire.
//
// Threads: the reactor's only. Lifetime: outlives the pending lanes made here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "engine/connect/hello.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "wire/port.h"

namespace railweave::engine {

class Wires {
 public:
  // `wires`: the wires that may be used, the preferred one of each reach first. The last wire of a reach is plain: its
  // Hellos name no wire, so every release understands them. Within a host the plain wire is the only one. Tests pass
  // their own wires. `config` outlives this object.
  explicit Wires(const Config& config);
  Wires(const Config& config, std::vector<const wire::Wire*> wires);

  // Opens the ports of our rail `rail`: the next index, or a known rail that has changed. A wire that cannot be opened
  // is left out, and logged at WARN.
  void know_rail(int rail, const Rail& is);

  // A pending lane, and the data that the handshake carries to the peer for this lane.
  struct Begun {
    std::unique_ptr<wire::PendingLane> pending;
    std::optional<WireOffer> offer = {};  // sent in the Hello; none for a plain wire
    OwnedFd descriptor = OwnedFd();       // sent beside the Hello, within a host
  };
  // Begins the dialler's end of a lane from our rail `rail`, or to a process of this host (kWithinHost). The first wire
  // that can begin a lane is used. Errors: as Port::begin_lane().
  static constexpr int kWithinHost = -1;
  Result<Begun> dial(int rail);
  // Begins the acceptor's end, on the wire that the dialler offers. The plain wire is used where the dialler offers
  // none, or one that cannot be used here now.
  // Errors: Code::remote where the offer is malformed; as Port::begin_lane().
  Result<Begun> accept(int rail, const std::optional<WireOffer>& offered, OwnedFd descriptor = OwnedFd());
  // Completes the dialler's end with the acceptor's answer. Where the acceptor did not take the offered wire, a plain
  // lane replaces the pending one. Errors: as PendingLane::complete() and Port::begin_lane().
  Status agree(int rail, Begun& begun, const std::optional<WireOffer>& answered);

 private:
  struct OpenPort {
    const wire::Wire* wire = nullptr;
    bool is_plain = false;
    std::unique_ptr<wire::Port> port;
  };
  using Ports = std::vector<OpenPort>;  // the preferred wire first; only ports that could be opened

  Ports open(const Rail* rail) const;
  Ports& ports_of(int rail);
  static Result<Begun> begin(OpenPort& open, wire::Port::Role role, wire::Offer received);
  static Result<Begun> begin_plain(Ports& ports, wire::Port::Role role, wire::Offer received);

  const Config& config_;
  const std::vector<const wire::Wire*> wires_;
  Ports within_host_;
  std::vector<Ports> by_rail_;
};

}  // namespace railweave::engine
