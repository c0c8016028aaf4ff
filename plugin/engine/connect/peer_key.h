// The key of a session in SessionDirectory: two instances share one session per traffic class.
#pragma once

#include <compare>

#include "engine/connect/handle.h"

namespace railweave::engine {

struct PeerKey {
  InstanceId peer{};
  int traffic_class = 0;
  // An instance that connects to itself has two halves of one session.
  enum class Half { whole, dialler, acceptor } half = Half::whole;
  friend auto operator<=>(const PeerKey&, const PeerKey&) = default;
};

}  // namespace railweave::engine
