#include "wire/bootstrap/lane_end.h"

#include <cerrno>

namespace railweave::wire {

LaneEnd lane_end_of(int err) {
  switch (err) {
    case 0: return LaneEnd::closed;
    case ETIMEDOUT: return LaneEnd::unanswered;
    case EBADMSG: return LaneEnd::corrupted;
    case ECONNREFUSED: return LaneEnd::refused;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
    case ENETRESET:
    case ENONET:
    case ENODEV:
    case ENOTCONN: return LaneEnd::reset;
    default: return LaneEnd::system;
  }
}

}  // namespace railweave::wire
