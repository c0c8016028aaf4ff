#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/queue_pair_states.h"

#include <algorithm>

namespace railweave::wire::verbs {
namespace {

constexpr std::uint8_t kHopLimit = 255;
constexpr std::uint8_t kTimeout = 17;  // 4.096 us * 2^17 = 0.54 s until a packet is sent again
// A peer that never answers is reported after 3.8 s. Not 7, the most: the driver rxe takes 7 for "without end".
constexpr std::uint8_t kRetries = 6;
constexpr std::uint8_t kRnrRetries = 7;    // without end; credit makes a receiver always ready
constexpr std::uint8_t kMinRnrTimer = 12;  // 0.64 ms

}  // namespace

Transition to_init(std::uint8_t port) {
  Transition step;
  step.attributes.qp_state = IBV_QPS_INIT;
  step.attributes.pkey_index = 0;
  step.attributes.port_num = port;
  step.attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
  step.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  return step;
}

Transition to_ready_to_receive(std::uint8_t port, const Path& path, const ChannelAddress& peer) {
  Transition step;
  ibv_qp_attr& a = step.attributes;
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = ibv_mtu(path.mtu);
  a.dest_qp_num = peer.qpn;
  a.rq_psn = peer.psn;
  a.max_dest_rd_atomic = 0;
  a.min_rnr_timer = kMinRnrTimer;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = port;
  std::ranges::copy(peer.gid, a.ah_attr.grh.dgid.raw);
  a.ah_attr.grh.sgid_index = std::uint8_t(path.gid_index);
  a.ah_attr.grh.hop_limit = kHopLimit;
  a.ah_attr.grh.traffic_class = path.traffic_class;
  a.ah_attr.grh.flow_label = path.flow_label;
  step.mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
              IBV_QP_MIN_RNR_TIMER;
  return step;
}

Transition to_ready_to_send(std::uint32_t psn) {
  Transition step;
  ibv_qp_attr& a = step.attributes;
  a.qp_state = IBV_QPS_RTS;
  a.sq_psn = psn;
  a.timeout = kTimeout;
  a.retry_cnt = kRetries;
  a.rnr_retry = kRnrRetries;
  a.max_rd_atomic = 0;
  step.mask =
      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  return step;
}

}  // namespace railweave::wire::verbs
#endif
