// What each side says of its rails while a session lives: those that are new, and those whose addresses changed.
// Statements of state, keyed by rail: of two, that of the higher edition stands. What a statement says is the engine's;
// here it is bytes. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/frame.h"

namespace railweave::protocol {

class RailUpdates {
 public:
  struct Statement {
    int rail = 0;
    std::uint64_t edition = 0;
    std::string bytes;
  };

  // --- ours. REQUIRES: rail < kRailsMax, bytes.size() <= kControlPayloadBytesMax.
  void announce(Statement news);
  bool pending() const;
  // The next frame to write. REQUIRES: pending(). Its payload stays until let_go().
  std::span<const std::byte> next(FrameHeader& header);
  // It was lost with its lane.
  void repeat(const FrameHeader& lost);
  // No lane's ledger names it any more.
  void let_go(const FrameHeader& frame);

  // --- the peer's. True: it says something new.
  bool apply(const FrameHeader& header, std::string_view payload);
  // What was heard since the last call, of each rail the last.
  std::vector<Statement> take_heard();

 private:
  struct Ours {
    Statement news;
    bool pending = true;
    int named = 0;  // by ledgers of lanes
  };
  struct Heard {
    Statement news;
    bool taken = false;
  };
  Ours& find(const FrameHeader& frame);
  void forget_outdated();

  std::vector<std::unique_ptr<Ours>> ours_;  // also outdated ones that ledgers name
  std::vector<Heard> heard_;                 // one for each rail
};

}  // namespace railweave::protocol
