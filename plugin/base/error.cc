#include "base/error.h"

#include <fmt/format.h>

#include "base/errno_text.h"
#include "base/process_limits.h"
#include "base/without_memory.h"

namespace railweave {

Status system_error(Scope scope, std::string what, int err) {
  return Status(Code::system, scope,
                fmt::format("{}: {} (errno {}){}", what, errno_text(err), err, descriptor_hint(err)), err);
}

const Status& out_of_memory() {
  static const Status& status = *new Status(Code::exhausted, Scope::session, "out of memory");
  return status;
}

}  // namespace railweave
