#include "wire/tcp/lane_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include "base/errno_text.h"
#include "wire/bootstrap/address.h"

namespace railweave::wire {

LaneSocket::LaneSocket(OwnedFd socket, std::string rail_name, std::unique_ptr<TlsStream> stream)
    : fd(std::move(socket)),
      metrics(std::make_shared<LaneMetrics>("tcp", std::move(rail_name), to_string(local_address(fd.get())),
                                            to_string(remote_address(fd.get())))),
      rail(metrics->rail),
      local(metrics->local_address),
      remote(metrics->remote_address),
      sent(metrics->sent),
      received(metrics->received),
      tls(std::move(stream)) {}

ssize_t LaneSocket::send(std::span<iovec> pieces, int flags) {
  if (tls) return tls->send(fd.get(), pieces, sent.calls);
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  sent.calls.add(1);
  return ::sendmsg(fd.get(), &message, flags | MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t LaneSocket::receive(std::span<iovec> pieces) {
  if (tls) return tls->recv(fd.get(), pieces, received, sent);
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  received.calls.add(1);
  // A single piece is the poll of an idle lane. recv() saves the kernel the copy of a message header.
  return pieces.size() == 1 ? ::recv(fd.get(), pieces[0].iov_base, pieces[0].iov_len, MSG_DONTWAIT)
                            : ::recvmsg(fd.get(), &message, MSG_DONTWAIT);
}

Status LaneSocket::failure(const char* call, int err) const {
  if ((err == EBADMSG || err == ECONNRESET) && tls && tls->failure())
    return Status(Code::remote, Scope::lane,
                  fmt::format("rail {}: {} to {}: TLS: {}", rail, local, remote, tls->failure()), err);
  const LaneEnd end = lane_end_of(err);
  const bool lost = end != LaneEnd::system && end != LaneEnd::corrupted;
  return Status(lost ? Code::remote : Code::system, Scope::lane,
                fmt::format("rail {}: {} to {}: {}{}: {} (errno {})", rail, local, remote,
                            err == ECONNRESET || err == EPIPE ? "reset by the peer: " : "", call, errno_text(err), err),
                err);
}

Status LaneSocket::closed_by_peer(bool inside_frame) const {
  return Status(Code::remote, Scope::lane,
                fmt::format("rail {}: {} to {}: closed by the peer{}", rail, local, remote,
                            inside_frame ? " in the middle of a frame" : ""));
}

}  // namespace railweave::wire
