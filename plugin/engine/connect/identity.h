// What a dial, a handshake and a probe need to know of their engine. Constant while the engine lives, but for the
// rails. Reactor's thread.
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
  const std::vector<PeerRail>* announced = nullptr;  // the same with ports
  const Config* config = nullptr;
  const SharedKey* key = nullptr;  // null: none
  Wires* wires = nullptr;
};

}  // namespace railweave::engine
