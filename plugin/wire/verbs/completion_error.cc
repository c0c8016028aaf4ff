#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/completion_error.h"

#include <fmt/format.h>

namespace railweave::wire::verbs {
namespace {

LaneEnd end_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR: return LaneEnd::unanswered;
    case IBV_WC_WR_FLUSH_ERR:  // without a cause of its own
    case IBV_WC_BAD_RESP_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR:
    case IBV_WC_REM_ABORT_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR: return LaneEnd::reset;
    default: return LaneEnd::system;
  }
}

ChannelFailure failure(LaneEnd end, const std::string& text) {
  const Code code = end == LaneEnd::system ? Code::system : Code::remote;
  return {Status(code, Scope::lane, text), end};
}

}  // namespace

bool is_consequence(ibv_wc_status status) { return status == IBV_WC_WR_FLUSH_ERR; }

ChannelFailure failure_of(const Api& api, const ibv_wc& completion, const std::string& device) {
  return failure(
      end_of(completion.status),
      fmt::format("device {}: queue pair {} failed: {} (status {}, vendor's code {:#x})", device, completion.qp_num,
                  api.wc_status_str(completion.status), int(completion.status), completion.vendor_err));
}

ChannelFailure failure_of(const Api& api, ibv_event_type event, std::uint32_t qpn, const std::string& device) {
  const bool by_peer = event == IBV_EVENT_QP_REQ_ERR || event == IBV_EVENT_QP_ACCESS_ERR;
  return failure(
      by_peer ? LaneEnd::reset : LaneEnd::system,
      fmt::format("device {}: queue pair {} failed by an event: {}", device, qpn, api.event_type_str(event)));
}

}  // namespace railweave::wire::verbs
#endif
