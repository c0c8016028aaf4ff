// A Status as the exception that torch users expect.
#pragma once

#include <exception>
#include <string>

#include "railweave/status.h"

namespace railweave::torch_ext {

// DistBackendError, a RuntimeError in Python; `what` says which operation.
std::exception_ptr exception_of(const Status& status, const std::string& what);

// Throws it unless `status` is ok.
void check_ok(const Status& status, const std::string& what);

}  // namespace railweave::torch_ext
