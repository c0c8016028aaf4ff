// The RDMA devices that this process has open, and the search for the device of a rail. Ports of several rails share a
// device. Threads: any. Fork: a child begins with no device, and opens its own.
#pragma once

#include <memory>

#include "railweave/status.h"
#include "wire/verbs/device.h"
#include "wire/verbs/gid.h"
#include "wire/verbs/host.h"

namespace railweave::wire::verbs {

// Returns the device that has a GID of the rail now, on an active Ethernet port. Opens devices where needed; the others
// are closed again. Takes some milliseconds for each device, and `patience` where a device does not answer.
// Errors: invalid_config (no RDMA device, no permission, no GID; the message says what was found), exhausted, system.
Result<std::shared_ptr<Device>> find_device(const VerbsHost& host, const RailIdentity& rail,
                                            Nanos patience = Device::kPatience);

// Returns the account of memory that this process's lanes pin.
PinnedMemory& pinned_memory();

}  // namespace railweave::wire::verbs
