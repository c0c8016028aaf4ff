// NCCL's connect, which NCCL polls: NCCL calls with the same handle until the peer has answered. The handle names the
// attempt in progress.
#pragma once

#include <memory>

#include "nccl/library.h"

namespace railweave::nccl {

// The first call with a handle starts an attempt and writes the attempt's name into bytes 112..127 of the handle. Later
// calls poll this attempt. Null: call again. When the attempt ended, in success or failure, these bytes are zero again.
// `dev`: index of a device. `traffic_class`: as Engine::connect(). Errors: as Engine::connect() and Connector::poll();
// invalid_argument when bytes 112..127 name no attempt of this context: the handle was copied after its first use, or
// damaged.
Result<std::unique_ptr<SendStream>> connect_or_poll(Context& context, int dev, int traffic_class, void* handle);

}  // namespace railweave::nccl
