// The wires of this build, and the ports that an engine opened of them. wires.cc has the table: no other file of the
// engine names a wire.
//
// On the reactor's thread only. Outlives the pending lanes that it began.
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
  // `wires`: those that may be used, of each reach the preferred one first. The last one of a reach is plain: its
  // Hellos name no wire, so that every release can be met by it. Within a host the plain one is the only one. Tests
  // bring their own.
  explicit Wires(const Config& config);
  Wires(const Config& config, std::vector<const wire::Wire*> wires);

  // One of our rails, the next one or one that is known and has changed.
  void know_rail(int rail, const Rail& is);

  // A lane on its way, and what goes to the peer for it.
  struct Begun {
    std::unique_ptr<wire::PendingLane> pending;
    std::optional<WireOffer> offer = {};  // in the Hello; none for a plain wire
    OwnedFd descriptor = OwnedFd();       // beside the Hello, within a host
  };
  // The dialler's end of a lane from this rail of ours, or, `rail` kWithinHost, to a process of this host: by the first
  // wire that can begin one. Errors: as Port::begin_lane().
  static constexpr int kWithinHost = -1;
  Result<Begun> dial(int rail);
  // The acceptor's end: by the wire that the dialler offers; by the plain one where it offers none, or one that cannot
  // be used here now.
  // Errors: Code::remote where the offer is nonsense; as Port::begin_lane().
  Result<Begun> accept(int rail, const std::optional<WireOffer>& offered, OwnedFd descriptor = OwnedFd());
  // The dialler's end hears the acceptor's answer. Where the acceptor did not take up the wire that was offered, a
  // plain lane takes the place of the pending one.
  Status agree(int rail, Begun& begun, const std::optional<WireOffer>& answered);

 private:
  struct OpenPort {
    const wire::Wire* wire = nullptr;
    bool is_plain = false;
    std::unique_ptr<wire::Port> port;
  };
  using Ports = std::vector<OpenPort>;  // the preferred one first; those that could not be opened are not there

  Ports open(const Rail* rail) const;
  Ports& ports_of(int rail);
  static Result<Begun> begin(OpenPort& open, wire::Port::Role role, wire::Offer heard);
  static Result<Begun> begin_plain(Ports& ports, wire::Port::Role role, wire::Offer heard);

  const Config& config_;
  const std::vector<const wire::Wire*> wires_;
  Ports within_host_;
  std::vector<Ports> by_rail_;
};

}  // namespace railweave::engine
