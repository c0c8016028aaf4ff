// torch's Store as the place where ranks meet.
// Threads: any. Polls, since a waiting call of a TCPStore keeps every other call through the same client out.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "collectives/rendezvous/store.h"

namespace railweave::torch_ext {

// `store` is kept; its exceptions become Code::remote.
std::shared_ptr<collectives::Store> store_of(c10::intrusive_ptr<c10d::Store> store);

}  // namespace railweave::torch_ext
