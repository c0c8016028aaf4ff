// Keeps the credit that was announced to a lane's peer, and decides when to announce a new one. Pure.
//
// Threads: under the lane's claim.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/credit_window.h"
#include "railweave/units.h"

namespace railweave::engine {

class AnnouncedCredit {
 public:
  // `first`: the credit that a peer assumes before the first announcement.
  explicit AnnouncedCredit(const protocol::Credit& first) : announced_(first) {}

  // Returns the credit to announce; none: the limit is the one announced last, and the window differs by a quarter at
  // most. `wire_holds`: the wire bounds the bytes under way. The announced window is then larger by its own size, and
  // by 32 KiB at least. The peer's process then need not run each time that a window is used up.
  std::optional<protocol::Credit> news(protocol::Credit credit, bool wire_holds);

 private:
  bool is_news(const protocol::Credit& credit) const;

  protocol::Credit announced_;  // announced last, or `first`
};

}  // namespace railweave::engine
