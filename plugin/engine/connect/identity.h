// The facts about its engine that a dial, a handshake and a probe need. Constant while the engine lives, except the
// rails. Threads: the reactor's.
#pragma once

#include <string>
#include <vector>

#include "engine/admission/shared_key.h"
#include "engine/connect/hello.h"
#include "engine/rails/wires.h"
#include "railweave/config.h"
#include "railweave/device.h"

namespace railweave::engine {

struct Identity {
  InstanceId instance{};
  std::string name;  // "host pid 123"
  const std::vector<Rail>* rails = nullptr;
  const std::vector<PeerRail>* announced = nullptr;  // `rails` as announced to peers, with ports
  const Config* config = nullptr;
  const SharedKey* key = nullptr;  // null: none
  Wires* wires = nullptr;
};

}  // namespace railweave::engine
