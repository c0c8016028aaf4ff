// Opens a port of the wire ofi on a rail. This header needs none of libfabric's.
// Threads: as wire/port.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "railweave/device.h"
#include "railweave/status.h"
#include "wire/port.h"

namespace railweave::wire::ofi {

struct Library;

struct PortOptions {
  std::string library;  // file of the library; empty: libfabric.so.1 of the system
  // in order of preference. libfabric 2 has FI_EP_RDM in "tcp", and 1.17 in "net". No other providers were tested
  std::vector<std::string> providers = {"tcp", "net", "tcp;ofi_rxm"};
};

// Errors: Code::invalid_config (no library, or no provider that fits), exhausted, system.
Result<std::unique_ptr<Port>> open_port(const Rail& rail, const PortOptions& options);
// The same over a library that is loaded. `library` must outlive the port and its lanes.
Result<std::unique_ptr<Port>> open_port(const Rail& rail, const PortOptions& options, const Library& library);

}  // namespace railweave::wire::ofi
