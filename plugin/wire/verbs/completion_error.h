// What a failed completion of a queue pair means for its lane. Pure. Threads: any.
// Source of the meanings: man ibv_poll_cq, and the InfiniBand specification, chapter 11.6.2.
#pragma once

#include <cstdint>
#include <string>

#include "railweave/status.h"
#include "wire/verbs/api.h"
#include "wire/wire.h"

namespace railweave::wire::verbs {

struct ChannelFailure {
  Status why;
  LaneEnd end = LaneEnd::system;
};

// True: the completion only follows from an earlier failure of its queue pair.
bool is_consequence(ibv_wc_status status);
// REQUIRES: the status is a failure.
ChannelFailure failure_of(const Api& api, const ibv_wc& completion, const std::string& device);
// The same for an event of the device that ended the queue pair.
ChannelFailure failure_of(const Api& api, ibv_event_type event, std::uint32_t qpn, const std::string& device);

}  // namespace railweave::wire::verbs
