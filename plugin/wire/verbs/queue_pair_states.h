// The attributes that take a reliable queue pair from one state to the next: INIT, RTR (ready to receive), RTS (ready
// to send). Pure. Threads: any. Source of the fields that each step needs: man ibv_modify_qp.
#pragma once

#include <cstdint>

#include "wire/verbs/api.h"
#include "wire/verbs/channel_address.h"

namespace railweave::wire::verbs {

struct Transition {
  ibv_qp_attr attributes{};
  int mask = 0;
};

// What one end decides about the way of its packets.
struct Path {
  std::uint32_t gid_index = 0;     // of the rail's GID, at present
  std::uint8_t mtu = 0;            // enum ibv_mtu: the smaller of both ends
  std::uint8_t traffic_class = 0;  // octet of the IP header
  std::uint32_t flow_label = 0;    // 20 bits; RoCE makes the UDP source port of it
};

Transition to_init(std::uint8_t port);
Transition to_ready_to_receive(std::uint8_t port, const Path& path, const ChannelAddress& peer);
// `psn`: of the first packet that this end sends.
Transition to_ready_to_send(std::uint32_t psn);

}  // namespace railweave::wire::verbs
