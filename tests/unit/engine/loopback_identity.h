// An Identity without an engine: one loopback rail, and the wires of this build.
#pragma once

#include <vector>

#include "engine/connect/identity.h"
#include "engine/rails/wires.h"
#include "tests/unit/engine/talker.h"

namespace railweave::engine {

struct LoopbackIdentity {
  // `config` outlives the identity.
  LoopbackIdentity(const Config& config, const InstanceId& instance) : wires(config) {
    self.instance = instance;
    self.name = "here pid 1";
    self.rails = &rails;
    self.announced = &announced;
    self.config = &config;
    self.wires = &wires;
    wires.know_rail(0, rails[0]);
  }
  LoopbackIdentity(const LoopbackIdentity&) = delete;
  LoopbackIdentity& operator=(const LoopbackIdentity&) = delete;

  const std::vector<Rail> rails{loopback_rail()};
  const std::vector<PeerRail> announced{{"lo", 10'000, {{loopback_rail().addresses[0], 4000}}, false}};
  Wires wires;
  Identity self;
};

}  // namespace railweave::engine
