#include "wire/tcp/lane_socket.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include "wire/tcp/address.h"

namespace railweave::wire {

LaneSocket::LaneSocket(OwnedFd socket, std::string rail_name)
    : fd(std::move(socket)),
      rail(std::move(rail_name)),
      local(to_string(local_address(fd.get()))),
      remote(to_string(remote_address(fd.get()))) {}

Status LaneSocket::failure(const char* call, int err) const {
  const bool lost = means_lane_lost(err);
  const char* text = ::strerrordesc_np(err);
  return Status(lost ? Code::remote : Code::system, Scope::lane,
                fmt::format("rail {}: {} to {}: {}{}: {} (errno {})", rail, local, remote,
                            err == ECONNRESET || err == EPIPE ? "reset by the peer: " : "", call,
                            text ? text : "unknown error", err),
                err);
}

Status LaneSocket::closed_by_peer(bool inside_frame) const {
  return Status(Code::remote, Scope::lane,
                fmt::format("rail {}: {} to {}: closed by the peer{}", rail, local, remote,
                            inside_frame ? " in the middle of a frame" : ""));
}

bool means_lane_lost(int err) {
  switch (err) {
    case ECONNRESET:
    case ECONNABORTED:
    case ECONNREFUSED:
    case EPIPE:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
    case ENETRESET:
    case ENONET:
    case ENODEV:
    case ENOTCONN:
      return true;
    default:
      return false;
  }
}

}  // namespace railweave::wire
