// ControlRules checks one direction of a session: the other end receives each OPEN, OPENED, GRANT and ACK within a
// bound, whichever lane took the frame first (decision D8). The class keeps its own records, from the frames alone.
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
  // A lane of the sending end took the frame.
  void stated(const protocol::FrameHeader& frame, TimePoint now);
  // The other end consumed the frame.
  void heard(const protocol::FrameHeader& frame);
  // Describes the oldest statement that the other end has not received within `most`; empty: none.
  std::string overdue(TimePoint now, Nanos most);

 private:
  struct Told {
    bool opened = false, over = false;
    std::uint64_t acked = 0;          // the messages below this one are acknowledged
    std::set<std::uint64_t> granted;  // granted messages from acked on
  };
  struct Statement {
    TimePoint since;
    protocol::FrameHeader frame;
  };
  static std::pair<protocol::StreamId, bool> stream_of(const protocol::FrameHeader& frame);
  bool is_heard(const protocol::FrameHeader& frame);

  std::map<std::pair<protocol::StreamId, bool>, Told> reported_;
  std::deque<Statement> waiting_;  // oldest first; the other end may have received some
};

}  // namespace railweave::sim
