// What the two halves of a TcpLane share: the socket, what encrypts on it, what it is called in messages, and the
// counters.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "wire/bootstrap/tls_stream.h"
#include "wire/lane_metrics.h"
#include "wire/wire.h"

struct iovec;

namespace railweave::wire {

struct LaneSocket {
  OwnedFd fd;
  const std::shared_ptr<LaneMetrics> metrics;
  const std::string &rail, &local, &remote;  // the metrics', as are
  LaneCounters &sent, &received;
  const std::unique_ptr<TlsStream> tls;  // null: in clear

  LaneSocket(OwnedFd socket, std::string rail_name, std::unique_ptr<TlsStream> stream = nullptr);

  // One sendmsg() with these flags and MSG_NOSIGNAL | MSG_DONTWAIT; one recvmsg(). With TLS what TlsStream makes of
  // them, and whoever sent fewer bytes than there are asks again.
  ssize_t send(std::span<iovec> pieces, int flags);
  ssize_t receive(std::span<iovec> pieces);

  // Frames may be sent; until then none is taken.
  bool opened() { return !tls || tls->advance(fd.get(), sent.calls); }
  // Nothing but frames waits for the peer or for room.
  bool settled() const { return !tls || tls->settled(); }

  // Code::remote where the connection is what failed, Code::system otherwise.
  Status failure(const char* call, int err) const;
  Status closed_by_peer(bool inside_frame) const;
};

// What the errno of a call on a connection says of its end: 0 (the end of input) closed, EBADMSG (a TLS record that its
// tag does not fit) corrupted. system: the call was wrong, or this host lacks something; the connection may stand.
LaneEnd lane_end_of(int err);

}  // namespace railweave::wire
