// Addresses as text. Threads: any.
#pragma once

#include <string>

#include "railweave/device.h"

namespace railweave {

// Returns "192.0.2.1" or "fe80::1%eth0": no prefix. A scope that no interface has is written as its number.
std::string to_string(const Address& address);

// Returns the address without its scope, for text that names the interface anyway.
Address without_scope(Address address);

}  // namespace railweave
