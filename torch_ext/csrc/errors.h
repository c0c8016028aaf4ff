// Converts a Status to the exception that torch users expect.
#pragma once

#include <exception>
#include <string>

#include "railweave/status.h"

namespace railweave::torch_ext {

// Returns a DistBackendError (in Python a RuntimeError). `what` names the operation.
std::exception_ptr exception_of(const Status& status, const std::string& what);

// Throws the exception of `status` unless it is ok.
void check_ok(const Status& status, const std::string& what);

}  // namespace railweave::torch_ext
