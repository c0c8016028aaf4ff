// The state that the two halves of a TcpLane share: socket, encryption, names for messages, and counters.
// Threads: the lane's.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "wire/bootstrap/lane_end.h"
#include "wire/bootstrap/tls_stream.h"
#include "wire/lane_metrics.h"
#include "wire/wire.h"

struct iovec;

namespace railweave::wire {

struct LaneSocket {
  OwnedFd fd;
  const std::shared_ptr<LaneMetrics> metrics;
  const std::string &rail, &local, &remote;  // names, owned by `metrics`
  LaneCounters &sent, &received;             // owned by `metrics`
  const std::unique_ptr<TlsStream> tls;      // null: in clear

  LaneSocket(OwnedFd socket, std::string rail_name, std::unique_ptr<TlsStream> stream = nullptr);

  // Make one sendmsg() with `flags` and MSG_NOSIGNAL | MSG_DONTWAIT, or one recvmsg(). With TLS they call TlsStream;
  // the caller must then repeat a send that took fewer bytes than `pieces` have.
  ssize_t send(std::span<iovec> pieces, int flags);
  ssize_t receive(std::span<iovec> pieces);

  // Advances the TLS handshake. True: frames may be sent. The writer takes no frame before.
  bool opened() { return !tls || tls->advance(fd.get(), sent.calls); }
  // True: no handshake, ciphertext or alert waits for the peer or for room.
  bool settled() const { return !tls || tls->settled(); }

  // The error for a failed `call`: Code::remote if the connection failed, Code::system otherwise.
  Status failure(const char* call, int err) const;
  Status closed_by_peer(bool inside_frame) const;  // Code::remote
};

}  // namespace railweave::wire
