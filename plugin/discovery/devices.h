// The devices NCCL is shown, made of rails. Pure arithmetic.
#pragma once

#include <vector>

#include "railweave/config.h"
#include "railweave/device.h"

namespace railweave::discovery {

// aggregate: one device of all rails, "rw-eth0+eth1" (of many rails: "rw-eth0+eth1+6more").
// rails: one device per rail, named after it.
// Speed: the sum over physical functions, each counted once with its fastest rail: two VFs of one port are no two
// ports. guid: a hash of the physical functions, so stable across starts. In model `rails` two VFs of one port have one
// guid: NCCL takes devices of equal guid and port for one budget of bandwidth, which is what they are. REQUIRES: rails
// is not empty.
std::vector<Device> make_devices(const std::vector<Rail>& rails, DeviceModel model);

}  // namespace railweave::discovery
