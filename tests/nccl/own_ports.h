// The TCP ports this process listens on, as the kernel tells: where a stranger would probe.
#pragma once

#include <netinet/in.h>

#include <vector>

#include "base/fd.h"

namespace railweave::nccl_test {

std::vector<sockaddr_in> own_listening_ports();  // IPv4

// Blocking connect; an empty fd when refused.
OwnedFd probe(const sockaddr_in& where);

}  // namespace railweave::nccl_test
