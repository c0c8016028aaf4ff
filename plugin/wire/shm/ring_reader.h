// The receiving half of a ShmLane: takes records from the ring, and copies payload from the ring or from the peer's
// memory to the place that the session names. Fetched read_while_landing payload (see Target) first goes through
// separate memory. Threads: the lane's.
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
  // `shared`, `ring`: the direction that the peer writes. `peer_waits`: the wake-up bits of the peer's end.
  RingReader(Direction& shared, const std::byte* ring, std::atomic<std::uint32_t>& peer_waits, Peer& peer,
             OneCopy one_copy);

  // See Lane::read, except for the peer's end: an empty ring only returns blocked. After an error each call returns
  // the same error.
  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes);
  void withdraw(std::span<const std::byte> range);  // see Lane::withdraw_target

  // True: read() has work now. The loads are seq_cst, so the caller may sleep if false.
  bool has_input() const;
  bool inside_frame() const { return rest_ > 0; }
  bool finished() const { return shared_.finished.load(std::memory_order_seq_cst) != 0; }

 private:
  static constexpr std::size_t kFetchBytes = 1 * MiB;      // bytes of one fetch
  static constexpr std::size_t kApartBytes = 16 * KiB;     // bytes of one fetch to apart_
  static constexpr std::size_t kAnnounceBytes = 16 * KiB;  // bytes consumed between two announcements inside one read()
  static constexpr int kMovesMax = 4;                      // attempts of one fetch: a withdrawal moves payload

  // Tests whether this end can read the peer's memory, once the peer has published the secret's address.
  void prove();
  Status take_record(LaneHandler& handler, std::uint64_t head, std::size_t& bytes);
  Status take_inline(LaneHandler& handler, std::uint64_t head, std::size_t budget, std::size_t& bytes);
  // Sets `waiting` if the peer was asked for a copy and has not made it yet.
  Status take_offered(LaneHandler& handler, std::size_t budget, std::size_t& bytes, bool& waiting);
  Result<std::size_t> fetch(std::atomic<std::uint64_t>& slot, std::byte* to, std::size_t bytes);
  Result<std::size_t> fetch_read_while_landing(std::atomic<std::uint64_t>& slot, std::size_t bytes);
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
  bool proving_;  // the test of the peer's memory is still to come
  bool can_fetch_ = false;
  bool published_fetching_ = false;  // as in shared_.fetching
  CopyChoice choice_;

  Status failure_;        // the first error, kept
  std::uint64_t at_ = 0;  // bytes of the ring taken since the lane began
  std::array<std::byte, kHeaderBytes> header_{};
  bool offered_ = false;                                    // the current payload is offered, not inline
  bool asked_ = false;                                      // the peer was asked for a copy of the current payload
  std::byte* place_ = nullptr;                              // for the payload's next byte; null: discard
  std::size_t size_ = 0, rest_ = 0;                         // bytes of the current payload: all, and those to come
  bool read_while_landing_ = false;                         // see Target
  alignas(64) std::array<std::byte, kApartBytes> apart_;    // read_while_landing payload is fetched here first
  std::uint64_t fetched_ = 0;                               // offers completed since the lane began
  std::uint64_t consumed_bytes_ = 0, announced_bytes_ = 0;  // headers and payload, since the lane began
  LaneCounters& received_;
};

}  // namespace railweave::wire::shm
