// torch's Store as the collectives::Store at which ranks meet.
// Threads: any. Polls, because a waiting call of a TCPStore blocks every other call through the same client.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "collectives/rendezvous/store.h"

namespace railweave::torch_ext {

// Keeps `store`; its exceptions become Code::remote.
std::shared_ptr<collectives::Store> store_of(c10::intrusive_ptr<c10d::Store> store);

}  // namespace railweave::torch_ext
