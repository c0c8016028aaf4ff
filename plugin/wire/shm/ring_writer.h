// The sending half of a ShmLane: puts frames into the ring, offers the payload of the larger ones, and releases frames
// as the reader is done with them.
//
// A frame passes through: taken (asked for), written (its record is whole in the ring), released (at once when its
// payload went inline; when the reader has fetched it when it was offered). In order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/copy_choice.h"
#include "wire/shm/layout.h"
#include "wire/shm/peer.h"
#include "wire/wire.h"

namespace railweave::wire::shm {

class RingWriter {
 public:
  // `shared` and `ring` are of the direction that this end writes; `peer_waits` are the other end's.
  RingWriter(Direction& shared, std::byte* ring, std::atomic<std::uint32_t>& peer_waits, Peer& peer, bool may_offer);
  ~RingWriter();  // takes back what is still offered

  // See Lane::write. Errors: Code::remote, the reader's counters cannot be.
  Result<Moved> write(LaneHandler& handler);
  // Releases what the reader is done with, and copies what it asks to have copied. Errors: as write().
  Status reap(LaneHandler& handler);
  void withdraw(std::span<const std::byte> range);
  void finish_writing();

  bool idle() const { return written_ == taken_; }
  // Whether write() would get further than the last time; whether reap() has something to copy.
  bool could_move() const;
  bool is_asked_to_copy() const;
  std::uint64_t acknowledged_bytes();
  std::uint64_t taken_bytes() const { return taken_bytes_; }

 private:
  static constexpr std::size_t kFrames = 256;         // taken and not yet released, at most; a power of two
  static constexpr std::size_t kBatch = 16;           // asked for at a time
  static constexpr std::size_t kTurnBytes = 1 * MiB;  // moved by one write()
  static constexpr std::size_t kPiece = 16 * KiB;     // the reader may begin with so much
  static constexpr std::size_t kInlineMax = 16 * KiB;
  static constexpr std::uint64_t kOfferedBytesMax = 4 * MiB;

  struct Held {
    std::unique_ptr<std::byte[]> kept;  // payload that was withdrawn, or that the reader could not read
    bool offered = false;
  };

  std::size_t at(std::uint64_t frame) const { return std::size_t(frame) & (kFrames - 1); }
  std::atomic<std::uint64_t>& slot(std::uint64_t offer) const { return shared_.slots[offer % kOffersMax]; }
  void take(LaneHandler& handler);
  // Puts what fits of frame written_; false when nothing more does.
  Result<bool> put(std::size_t& bytes);
  Result<bool> begin(std::size_t& bytes);
  Result<std::size_t> room();
  void copy_in(std::span<const std::byte> piece);
  void publish(std::size_t bytes);
  void release(LaneHandler& handler);
  void copy_on_request();
  const std::byte* keep(std::uint64_t frame);
  // f(frame, slot) for each that the reader is not known to be done with.
  template <class F>
  void for_each_offer(const F& f);
  Status malformed(const char* counter, std::uint64_t found, std::uint64_t least, std::uint64_t most) const;

  Direction& shared_;
  std::byte* const ring_;
  std::atomic<std::uint32_t>& peer_waits_;
  Peer& peer_;
  const bool may_offer_;

  std::vector<OutFrame> frames_;                          // ring; an inline frame's payload shrinks as it is put
  std::vector<Held> held_;                                // beside it
  std::uint64_t taken_ = 0, written_ = 0, released_ = 0;  // frames ever; released_ <= written_ <= taken_
  bool lacks_room_ = false;                               // is what write() stopped at last
  bool begun_ = false;                                    // the start of frame written_ is in the ring
  std::uint64_t head_ = 0, tail_ = 0;
  std::uint64_t offered_ = 0, fetched_ = 0, released_offers_ = 0;  // offers ever; fetched: the reader is done with them
  std::uint64_t offered_bytes_ = 0;                                // outstanding
  std::uint64_t taken_bytes_ = 0, acknowledged_ = 0;
  LaneCounters& sent_;
  CopyCost put_cost_;
  std::uint32_t published_put_cost_ps_ = 0;
  bool finishing_ = false, finished_ = false;
};

}  // namespace railweave::wire::shm
