// What the two halves of a TcpLane share: the socket, what encrypts on it, what it is called in messages, and the counters.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "wire/tcp/counters.h"
#include "wire/tcp/tls_stream.h"

struct iovec;

namespace railweave::wire {

struct LaneSocket {
  OwnedFd fd;
  std::string rail, local, remote;
  LaneCounters sent, received;
  const std::unique_ptr<TlsStream> tls;  // null: in clear

  LaneSocket(OwnedFd socket, std::string rail_name, std::unique_ptr<TlsStream> stream = nullptr);

  // One sendmsg() with these flags and MSG_NOSIGNAL | MSG_DONTWAIT; one recvmsg(). With TLS what TlsStream makes of them, and
  // whoever sent fewer bytes than there are asks again.
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

// The errnos that say that this connection is dead, rather than that the call was wrong.
bool means_lane_lost(int err);

}  // namespace railweave::wire
