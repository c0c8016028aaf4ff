// The sending half of a ShmLane: puts frames into the ring, offers the payload of larger frames to the reader, and
// releases frames that the reader no longer needs.
//
// A frame is first taken (from the handler), then written (its record is complete in the ring), then released, all in
// order. A frame with inline payload is released at once, a frame with offered payload after the reader fetched it.
//
// Threads: the lane's.
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
  // `shared`, `ring`: the direction that this end writes. `peer_waits`: the wake-up bits of the peer's end.
  // `may_offer`: false: all payload goes inline.
  RingWriter(Direction& shared, std::byte* ring, std::atomic<std::uint32_t>& peer_waits, Peer& peer, bool may_offer);
  ~RingWriter();  // withdraws outstanding offers (kGone)

  // See Lane::write. Errors: Code::remote if the reader's counters are impossible.
  Result<Moved> write(LaneHandler& handler);
  // Releases frames that the reader no longer needs, and copies payload as the reader asks. Errors: as write().
  Status reap(LaneHandler& handler);
  void withdraw(std::span<const std::byte> range);  // see Lane::withdraw_payload
  void finish_writing();                            // see Lane::finish_writing

  bool idle() const { return written_ == taken_; }  // no taken frame waits to be written
  bool could_move() const;                          // write() would get further than the last time
  bool is_asked_to_copy() const;                    // reap() may have payload to copy
  // Headers and payload since the lane began: consumed by the reader, and taken.
  std::uint64_t acknowledged_bytes();
  std::uint64_t taken_bytes() const { return taken_bytes_; }

 private:
  static constexpr std::size_t kFrames = 256;                 // taken and not released, at most; a power of two
  static constexpr std::size_t kBatch = 16;                   // frames taken at once
  static constexpr std::size_t kTurnBytes = 1 * MiB;          // bytes moved by one write()
  static constexpr std::size_t kPiece = 16 * KiB;             // bytes after which the reader may begin to copy
  static constexpr std::size_t kInlineMax = 16 * KiB;         // payload up to this size is never offered
  static constexpr std::uint64_t kOfferedBytesMax = 4 * MiB;  // outstanding; a single offer may be larger

  struct Held {
    std::unique_ptr<std::byte[]> kept;  // the lane's copy of payload: withdrawn, or unreadable for the reader
    bool offered = false;
  };

  std::size_t at(std::uint64_t frame) const { return std::size_t(frame) & (kFrames - 1); }
  std::atomic<std::uint64_t>& slot(std::uint64_t offer) const { return shared_.slots[offer % kOffersMax]; }
  void take(LaneHandler& handler);
  // Puts frame written_ into the ring as far as it fits. False: the frame is not complete.
  Result<bool> put(std::size_t& bytes);
  Result<bool> begin(std::size_t& bytes);
  Result<std::size_t> room();  // free bytes of the ring
  void copy_in(std::span<const std::byte> piece);
  void publish(std::size_t bytes);
  void release(LaneHandler& handler);
  void copy_on_request();
  const std::byte* keep(std::uint64_t frame);
  // Calls f(frame, slot) for each offer that the reader still needs, as far as known.
  template <class F>
  void for_each_offer(const F& f);
  Status malformed(const char* counter, std::uint64_t found, std::uint64_t least, std::uint64_t most) const;

  Direction& shared_;
  std::byte* const ring_;
  std::atomic<std::uint32_t>& peer_waits_;
  Peer& peer_;
  const bool may_offer_;

  std::vector<OutFrame> frames_;                                   // ring; inline payload shrinks as it is put
  std::vector<Held> held_;                                         // one for each frame of frames_
  std::uint64_t taken_ = 0, written_ = 0, released_ = 0;           // frames so far; released_ <= written_ <= taken_
  bool lacks_room_ = false;                                        // the last write() stopped for lack of room
  bool begun_ = false;                                             // the start of frame written_ is in the ring
  std::uint64_t head_ = 0, tail_ = 0;                              // bytes since the lane began; tail_: as last read
  std::uint64_t offered_ = 0, fetched_ = 0, released_offers_ = 0;  // offers so far; fetched_: completed by the reader
  std::uint64_t offered_bytes_ = 0;                                // payload of offers not released
  std::uint64_t taken_bytes_ = 0, acknowledged_ = 0;               // see acknowledged_bytes()
  LaneCounters& sent_;
  CopyCost put_cost_;
  std::uint32_t published_put_cost_ps_ = 0;
  bool finishing_ = false, finished_ = false;
};

}  // namespace railweave::wire::shm
