// What the peer was told that it may send by a lane, and what is news to it. Pure; under the lane's claim.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/credit_window.h"
#include "railweave/units.h"

namespace railweave::engine {

class AnnouncedCredit {
 public:
  // `first`: what a peer takes for granted before it is told anything.
  explicit AnnouncedCredit(const protocol::Credit& first) : reported_(first) {}

  // What is to be said, if that differs from what was said last by more than a quarter of the window. `wire_holds`: the
  // wire bounds what is under way, so the peer may hold as much again ready behind it: its process need not run each
  // time that a window is used up.
  std::optional<protocol::Credit> news(protocol::Credit credit, bool wire_holds);

 private:
  bool is_news(const protocol::Credit& credit) const;

  protocol::Credit reported_;
};

}  // namespace railweave::engine
