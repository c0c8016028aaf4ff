// How lanes are made (decision D10). A wire opens ports: one for each rail of this host, or one for what stays inside
// the host. A port holds what its lanes share (a device, a protection domain, ring memory) and begins them.
//
// Two instances have to agree before there is a lane. Each end begins a pending lane. What the pending lane offers
// travels in the handshake (docs/internals/protocol.md, "Handshake"). The connection of the handshake is the bootstrap
// of every wire: it becomes the lane (tcp), or stays open beside the lane as a sign of life (shm, verbs, ofi).
//
//   dialler                                          acceptor
//   begin_lane(dialler), offer()  ─── hello ───►     begin_lane(acceptor), complete(), offer()
//   complete(), start()               ◄── welcome ──
//                                 ── confirm ──►     start()
//   poll() until there is a lane                     poll() until there is a lane
//
// Threads: one at a time for all wires, ports and pending lanes of an engine (the reactor's). No call blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "wire/bootstrap/tls_stream.h"
#include "wire/wire.h"

namespace railweave::wire {

inline constexpr std::size_t kOfferBytesMax = 256;

// What one end tells the other of a lane to be.
struct Offer {
  std::vector<std::byte> bytes = {};  // at most kOfferBytesMax
  OwnedFd descriptor = OwnedFd();     // goes along on a connection within one host (AF_UNIX), and on no other
};

// The connection on which two instances agreed.
struct Bootstrap {
  OwnedFd fd = OwnedFd();                    // connected, non-blocking; nothing unread of the handshake
  std::unique_ptr<TlsStream> tls = nullptr;  // what encrypts on it; null: in clear
};

// A lane on its way. Destroying it gives the lane up, and closes the bootstrap.
class PendingLane {
 public:
  virtual ~PendingLane() = default;
  // For the peer's end. Called once at most; the acceptor calls complete() before. Errors: exhausted, system.
  virtual Result<Offer> offer() = 0;
  // What the peer's end offers; empty where it offers nothing. Errors: Code::remote (no offer of this wire), exhausted,
  // system.
  virtual Status complete(Offer offer) = 0;
  // Both ends agreed.
  virtual void start(Bootstrap bootstrap) = 0;
  // REQUIRES: start(). Null: pending; ask again soon. After a lane or an error it is not asked again.
  virtual Result<std::unique_ptr<Lane>> poll() = 0;
};

class Port {
 public:
  enum class Role { dialler, acceptor };

  // Pending lanes and lanes may outlive their port: they keep what they need of it.
  virtual ~Port() = default;
  // Errors: exhausted (no memory or descriptors), system.
  virtual Result<std::unique_ptr<PendingLane>> begin_lane(Role role) = 0;
};

class Wire {
 public:
  enum class Reach { between_hosts, within_host };

  virtual std::string_view name() const = 0;  // as peers are told, at most 15 characters
  virtual Reach reach() const = 0;
  // This machine has what the wire needs. What needs a library looks for it here.
  virtual bool is_available() const = 0;
  // `rail`: one of this host's, which the port keeps a copy of what it needs of; null for a wire within the host.
  // Errors: exhausted, system.
  virtual Result<std::unique_ptr<Port>> open(const Rail* rail, const Config& config) const = 0;

 protected:
  ~Wire() = default;  // wires live as long as the process
};

}  // namespace railweave::wire
