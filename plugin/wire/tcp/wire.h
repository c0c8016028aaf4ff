// The TCP wire (wire/port.h): the bootstrap connection becomes the lane. TCP lanes need no offer, so every peer can use
// this wire.
#pragma once

#include "wire/port.h"

namespace railweave::wire {

const Wire& tcp_wire();

}  // namespace railweave::wire
