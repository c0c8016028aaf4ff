// Control never waits for one lane (decision D8): what one end states is heard by the other within a bound, whichever
// lane took the statement first. Keeps books of its own, from the frames alone: OPEN, OPENED, GRANT and ACK, one
// direction of one session.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "protocol/completion.h"
#include "protocol/frame.h"
#include "railweave/units.h"

namespace railweave::sim {

class ControlRules {
 public:
  // A lane took the frame, at the end that speaks.
  void stated(const protocol::FrameHeader& frame, TimePoint now);
  // At the other end.
  void heard(const protocol::FrameHeader& frame);
  // Empty, or which statement was not heard for `most`.
  std::string overdue(TimePoint now, Nanos most);

 private:
  struct Told {
    bool opened = false, over = false;
    std::uint64_t acked = 0;          // every message below
    std::set<std::uint64_t> granted;  // messages from acked on
  };
  struct Statement {
    TimePoint since;
    protocol::FrameHeader frame;
  };
  static std::pair<protocol::StreamId, bool> stream_of(const protocol::FrameHeader& frame);
  bool is_heard(const protocol::FrameHeader& frame);

  std::map<std::pair<protocol::StreamId, bool>, Told> reported_;
  std::deque<Statement> waiting_;  // oldest first; some may be heard already
};

}  // namespace railweave::sim
