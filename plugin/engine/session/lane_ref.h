// Names one lane of a session, also after another lane has taken its place. A plain value.
#pragma once

#include <cstdint>

namespace railweave::engine {

struct LaneRef {
  int place = 0;                 // index in the session's LaneTable
  std::uint32_t generation = 0;  // grows with every lane of the place, from 1 on
  friend bool operator==(const LaneRef&, const LaneRef&) = default;
};

}  // namespace railweave::engine
