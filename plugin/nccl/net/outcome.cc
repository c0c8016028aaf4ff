#include "nccl/net/outcome.h"

#include <exception>

#include "base/log.h"

namespace railweave::nccl {

abi::ReturnCode return_code(Code code) {
  switch (code) {
    case Code::ok: return abi::kSuccess;
    case Code::invalid_argument:
    case Code::invalid_config:
    case Code::truncated: return abi::kInvalidUsage;
    case Code::remote:
    case Code::left:
    case Code::timed_out: return abi::kRemoteError;
    case Code::system:
    case Code::exhausted: return abi::kSystemError;
    case Code::cancelled:
    case Code::internal: return abi::kInternalError;
  }
  return abi::kInternalError;
}

abi::ReturnCode report(const Status& status) {
  if (!status.ok()) RW_WARN(net, "{}", status.message());
  return return_code(status.code());
}

abi::ReturnCode report_exception(const char* entry) noexcept {
  try {
    throw;
  } catch (const std::exception& e) {
    RW_WARN(net, "{}: unexpected exception: {}", entry, e.what());
  } catch (...) {
    RW_WARN(net, "{}: unexpected exception", entry);
  }
  return abi::kInternalError;
}

}  // namespace railweave::nccl
