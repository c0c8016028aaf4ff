// Wires, ports and pending lanes create lanes (decision D10). A wire opens one port for each rail of this host, or one
// port for traffic within the host. A port begins lanes, and holds the resources that its lanes share: a device, a
// protection domain, ring memory.
//
// Two instances agree on a lane first. Each end begins a pending lane, whose offer travels in the handshake
// (docs/internals/protocol.md, "Handshake"). The connection of the handshake is the bootstrap of every wire: this
// connection becomes the lane (tcp), or stays open beside the lane and shows that the peer lives (shm, verbs, ofi).
//
//   dialler                                          acceptor
//   begin_lane(dialler), offer()  ─── hello ───►     begin_lane(acceptor), complete(), offer()
//   complete(), start()               ◄── welcome ──
//                                 ── confirm ──►     start()
//   poll() until there is a lane                     poll() until there is a lane
//
// Threads: one at a time for all wires, ports and pending lanes of an engine: the reactor's. No call blocks, but two:
// Wire::open() may load a library, open a device and wait 1 s for it. Port::begin_lane() may wait 0.4 s for a device,
// and may open another one where the rail's device is gone.
#pragma once

#include <cstddef>
#include <cstdint>
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

// The data that one end of a pending lane sends to the other end in the handshake.
struct Offer {
  std::vector<std::byte> bytes = {};  // at most kOfferBytesMax
  OwnedFd descriptor = OwnedFd();     // passed over AF_UNIX, within one host only; none: no descriptor
};

// The connection on which two instances agreed.
struct Bootstrap {
  OwnedFd fd = OwnedFd();                    // connected, non-blocking, all of the handshake read
  std::unique_ptr<TlsStream> tls = nullptr;  // encrypts the connection; null: in clear
};

// A lane that is not established yet. The destructor abandons the lane and closes the bootstrap.
class PendingLane {
 public:
  virtual ~PendingLane() = default;
  // Returns this end's offer for the peer. Call once at most; the acceptor calls complete() first.
  // Errors: exhausted, system.
  virtual Result<Offer> offer() = 0;
  // Takes the peer's offer, empty if the peer offers nothing. Errors: Code::remote (no offer of this wire),
  // exhausted, system.
  virtual Status complete(Offer offer) = 0;
  // Starts the lane on `bootstrap`, after both ends agreed.
  virtual void start(Bootstrap bootstrap) = 0;
  // REQUIRES: start() was called. Null: still pending; call again soon. Don't call after a lane or an error.
  virtual Result<std::unique_ptr<Lane>> poll() = 0;
};

class Port {
 public:
  enum class Role { dialler, acceptor };

  // Pending lanes and lanes may outlive their port; both keep what they need of the port.
  virtual ~Port() = default;
  // Errors: exhausted (no memory or descriptors), system.
  virtual Result<std::unique_ptr<PendingLane>> begin_lane(Role role) = 0;
};

// What the lanes of a wire pin of memory. The kernel bounds pinned memory by RLIMIT_MEMLOCK.
struct PinnedBytes {
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
  std::uint64_t per_lane = 0;        // 0: the wire's lanes pin nothing
  std::uint64_t per_rail = 0;        // on top of the lanes, for each rail that has lanes
  std::uint64_t bound = kUnbounded;  // for this process; further lanes go by another wire
};

class Wire {
 public:
  enum class Reach { between_hosts, within_host };

  virtual std::string_view name() const = 0;  // sent to peers, at most 15 characters
  virtual Reach reach() const = 0;
  // True: a Hello need not name the wire, so every release understands a lane by it. One wire of each reach is plain.
  virtual bool is_plain() const { return false; }
  // True: lanes encrypt what they carry if the bootstrap has a TLS stream.
  virtual bool can_encrypt() const { return false; }
  virtual PinnedBytes pinned_bytes() const { return {}; }
  // `rail`: a rail of this host, copied as far as the port needs it; null for a wire within the host. A wire that needs
  // a library or a device looks for them here.
  // Errors: invalid_config (this host lacks what the wire needs; the message says what, and how to get it), exhausted,
  // system.
  virtual Result<std::unique_ptr<Port>> open(const Rail* rail, const Config& config) const = 0;

 protected:
  ~Wire() = default;  // wires live as long as the process
};

}  // namespace railweave::wire
