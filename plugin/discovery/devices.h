// Makes the devices that NCCL sees out of rails. A pure function.
#pragma once

#include <vector>

#include "railweave/config.h"
#include "railweave/device.h"

namespace railweave::discovery {

// aggregate: one device of all rails, "rw-eth0+eth1" (of many rails: "rw-eth0+eth1+6more").
// rails: one device per rail, named after the rail.
// Speed: the sum over physical functions, each counted once with its fastest rail, because VFs of one port share it.
// guid: a hash of the physical functions, the same on every start. In model `rails` two VFs of one port have the same
// guid: NCCL counts devices of equal guid and port as one budget of bandwidth, which is correct for them.
// REQUIRES: `rails` is not empty.
std::vector<Device> make_devices(const std::vector<Rail>& rails, DeviceModel model);

}  // namespace railweave::discovery
