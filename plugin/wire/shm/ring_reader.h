// The receiving half of a ShmLane: takes records from the ring, and payload from there or from the peer's memory,
// to the place that the session names: straight, unless somebody watches it (see Target).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/copy_choice.h"
#include "wire/shm/layout.h"
#include "wire/shm/peer.h"
#include "wire/wire.h"

namespace railweave::wire::shm {

class RingReader {
 public:
  // `shared` and `ring` are of the direction that the peer writes; `peer_waits` are its end's.
  RingReader(Direction& shared, const std::byte* ring, std::atomic<std::uint32_t>& peer_waits, Peer& peer,
             OneCopy one_copy);

  // See Lane::read, but for the peer's end: a ring that is empty is merely blocked. After an error the same error
  // again.
  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes);
  void withdraw(std::span<const std::byte> range);

  // What read() has to do now. Good for sleeping by: seq_cst.
  bool has_input() const;
  bool inside_frame() const { return rest_ > 0; }
  bool finished() const { return shared_.finished.load(std::memory_order_seq_cst) != 0; }

 private:
  static constexpr std::size_t kFetchBytes = 1 * MiB;  // in one call
  static constexpr std::size_t kApartBytes = 16 * KiB;
  static constexpr std::size_t kAnnounceBytes = 16 * KiB;  // consumed before the writer is told, inside one read()
  static constexpr int kMovesMax = 4;                      // of one payload in one call: withdrawn, gone

  // Learns whether the peer's memory can be read, once the peer has said where to try.
  void prove();
  Status take_record(LaneHandler& handler, std::uint64_t head, std::size_t& bytes);
  Status take_inline(LaneHandler& handler, std::uint64_t head, std::size_t budget, std::size_t& bytes);
  // Sets `waiting` when the peer was asked for a copy and has not made it.
  Status take_offered(LaneHandler& handler, std::size_t budget, std::size_t& bytes, bool& waiting);
  Result<std::size_t> fetch(std::atomic<std::uint64_t>& slot, std::byte* to, std::size_t bytes);
  Result<std::size_t> fetch_watched(std::atomic<std::uint64_t>& slot, std::size_t bytes);
  Status unreadable(std::atomic<std::uint64_t>& slot, std::uint64_t address, int err);
  Status payload_arrived(LaneHandler& handler, std::size_t n);
  void announce_consumed();
  void publish_fetching();
  Status malformed(const char* what, std::uint64_t found, std::uint64_t expected) const;

  Direction& shared_;
  const std::byte* const ring_;
  std::atomic<std::uint32_t>& peer_waits_;
  Peer& peer_;
  const OneCopy one_copy_;
  bool proving_;  // not known yet whether we can fetch
  bool can_fetch_ = false;
  bool published_fetching_ = false;  // what the writer knows
  CopyChoice choice_;

  Status failure_;        // first error; sticks
  std::uint64_t at_ = 0;  // of the ring's bytes
  std::array<std::byte, kHeaderBytes> header_{};
  bool offered_ = false;        // how the payload at hand comes
  bool asked_ = false;          // for a copy of it
  std::byte* place_ = nullptr;  // of its next byte; null: thrown away
  std::size_t size_ = 0, rest_ = 0;
  bool read_while_landing_ = false;                       // see Target
  alignas(64) std::array<std::byte, kApartBytes> apart_;  // what is read_while_landing is fetched there first
  std::uint64_t fetched_ = 0;                             // offers done with, ever
  std::uint64_t consumed_bytes_ = 0, announced_bytes_ = 0;
  LaneCounters& received_;
};

}  // namespace railweave::wire::shm
