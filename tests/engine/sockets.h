// The lanes of engines in this process, as the kernel and the engines count them.
#pragma once

#include <cstddef>
#include <set>

#include "railweave/endpoint.h"

namespace railweave::engine_test {

// Returns the descriptors of this process's TCP connections. A lane between two engines of this process has two.
std::set<int> connections();
int family_of(int fd);
// Resets a connection: bytes under way are lost, and the peer sees a reset.
void reset_connection(int fd);
// Returns the number of open lanes of the engine's first session.
std::size_t lanes_of(const Engine& engine);

}  // namespace railweave::engine_test
