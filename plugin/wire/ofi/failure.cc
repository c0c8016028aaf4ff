#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/failure.h"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

namespace railweave::wire::ofi {

// An operation is cancelled if its connection broke: this end cancels none.
LaneEnd lane_end_of(std::int64_t error) {
  switch (error < 0 ? -error : error) {
    case FI_ECONNRESET:
    case FI_ENOTCONN:
    case FI_ECONNABORTED:
    case FI_ESHUTDOWN:
    case FI_ECANCELED: return LaneEnd::reset;
    case FI_ETIMEDOUT:
    case FI_EHOSTUNREACH: return LaneEnd::unanswered;
    case FI_ECONNREFUSED: return LaneEnd::refused;
    default: return LaneEnd::system;
  }
}

Status failure(const Library& library, const std::string& what, std::int64_t error) {
  const Code code = lane_end_of(error) == LaneEnd::system ? Code::system : Code::remote;
  const int number = int(error < 0 ? -error : error);
  return Status(code, Scope::lane, fmt::format("{}: {} (error {})", what, library.error_text(error), number), number);
}

}  // namespace railweave::wire::ofi
#endif
