#include "base/error.h"

#include <fmt/format.h>
#include <cstring>

namespace railweave {

Status system_error(Scope scope, std::string what, int err) {
  const char* name = ::strerrordesc_np(err);
  return Status(Code::system, scope, fmt::format("{}: {} (errno {})", what, name ? name : "unknown error", err), err);
}

}  // namespace railweave
