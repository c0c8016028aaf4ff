// The TCP ports on which this process listens, as the kernel lists them: where a stranger would connect.
#pragma once

#include <netinet/in.h>

#include <vector>

#include "base/fd.h"

namespace railweave::nccl_test {

std::vector<sockaddr_in> own_listening_ports();  // IPv4

// Connects, and blocks meanwhile. Returns no descriptor if the connection is refused.
OwnedFd probe(const sockaddr_in& where);

}  // namespace railweave::nccl_test
