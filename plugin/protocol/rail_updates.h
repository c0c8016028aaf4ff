// RailUpdates: the statements of each side about rails that are new, or whose addresses changed, while a session lives.
// Of two statements about a rail, the one of the higher edition holds. The engine encodes a statement; here it is
// bytes.
// Threads: one at a time.
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

  // --- this side's
  // Queues a statement. No effect if one of the same or a higher edition is known. REQUIRES: rail < kRailsMax,
  // bytes.size() <= kControlPayloadBytesMax.
  void announce(Statement news);
  bool pending() const;
  // Fills in the next frame and returns its payload, which stays until let_go(). REQUIRES: pending().
  std::span<const std::byte> next(FrameHeader& header);
  // The frame was lost with its lane: queues its statement again, unless a newer one exists.
  void repeat(const FrameHeader& lost);
  // A lane's ledger has forgotten the frame.
  void let_go(const FrameHeader& frame);

  // --- the peer's
  // True: the statement is new.
  bool apply(const FrameHeader& header, std::string_view payload);
  // The peer's statements since the last call; of each rail only the newest.
  std::vector<Statement> take_received();

 private:
  struct Ours {
    Statement news;
    bool pending = true;
    int named = 0;  // frames in lane ledgers that carry the statement
  };
  struct Received {
    Statement news;
    bool taken = false;
  };
  Ours& find(const FrameHeader& frame);
  void forget_outdated();

  std::vector<std::unique_ptr<Ours>> ours_;  // includes outdated statements that ledgers name
  std::vector<Received> received_;           // one for each rail
};

}  // namespace railweave::protocol
