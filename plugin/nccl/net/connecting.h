// A connect that NCCL polls: it calls with the same handle again and again, and the handle is where it is remembered.
#pragma once

#include <memory>

#include "nccl/library.h"

namespace railweave::nccl {

// The first call with a handle starts the attempt and writes it into bytes 112..127; later calls poll it. Null: call
// again. When it ended, well or not, those bytes are zero again. Errors: the engine's; bytes 112..127 name no attempt
// of this context (invalid_argument): the handle was copied after its first use, or damaged.
Result<std::unique_ptr<SendStream>> connect_or_poll(Context& context, int dev, int traffic_class, void* handle);

}  // namespace railweave::nccl
