#include "torch_ext/csrc/errors.h"

#include <c10/util/Exception.h>

namespace railweave::torch_ext {

std::exception_ptr exception_of(const Status& status, const std::string& what) {
  const c10::SourceLocation here{__func__, "railweave", 0};
  return std::make_exception_ptr(c10::DistBackendError(here, what + ": " + status.message()));
}

void check_ok(const Status& status, const std::string& what) {
  if (!status.ok()) std::rethrow_exception(exception_of(status, what));
}

}  // namespace railweave::torch_ext
