// The lanes of engines in this process, as the kernel and the engines count them.
#pragma once

#include <cstddef>
#include <set>

#include "railweave/endpoint.h"

namespace railweave::engine_test {

// Descriptors of this process's TCP connections; a lane of two engines here has two.
std::set<int> connections();
int family_of(int fd);
// What was under way is lost, and the peer sees a reset.
void reset_connection(int fd);
// Those of its first session that are open.
std::size_t lanes_of(const Engine& engine);

}  // namespace railweave::engine_test
