// A port of the verbs wire: one rail, on the RDMA device that has a GID of the rail.
//
// Device, port number and GID are looked up when the port is opened, and again by each begin_lane(). So a GID that came
// back at another index, or a device that was removed and added again, serves the next lane.
// Memory: a lane pins kLaneBytes (queue_pair.h). Each port of a device that serves lanes pins as much once more, for
// the queue pair that is made in advance.
// Threads: as wire/port.h says. begin_lane() waits for the device, at most Device::kPatience. Where the rail's device
// changed, it looks at all devices of the host (devices.h), and waits for their threads as long once more.
#pragma once

#include <memory>

#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/status.h"
#include "wire/port.h"
#include "wire/verbs/host.h"

namespace railweave::wire::verbs {

// Errors: as Wire::open().
Result<std::unique_ptr<Port>> open_port(const VerbsHost& host, const Rail& rail, const Config& config);

}  // namespace railweave::wire::verbs
