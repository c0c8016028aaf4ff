// What the receiver allows to be sent by one lane (docs/credit_windows.md): the sender's side. Pure: the time comes in by look(). One thread at a
// time.
#pragma once

#include <cstdint>

#include "railweave/units.h"

namespace railweave::protocol {

// What a receiver says of a lane.
struct Credit {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t window_bytes = kNone;  // that may be outstanding: taken by the lane, and not acknowledged by the receiver's kernel; kNone: any
  std::uint64_t limit = kNone;         // the position that segments may reach: bytes that the lane took since it began; kNone: any
  friend bool operator==(const Credit&, const Credit&) = default;
};

class CreditWindow {
 public:
  static constexpr Nanos kStarvedMost = std::chrono::seconds(1);    // then some bytes may go, whatever the receiver says ...
  static constexpr std::uint64_t kStarvedBytes = 16 * KiB;          // ... so many outstanding at most

  // `first` stands until the receiver says more.
  explicit CreditWindow(const Credit& first = {}) : credit_(first) {}

  // The receiver said so. It stands until the receiver says more. An edition that is not higher than the last one is without effect.
  void hear(std::uint64_t edition, const Credit& credit);
  // To be called before room(), with a time that does not go back.
  void look(TimePoint now);
  // What stands. Both kNone: the receiver bounds nothing.
  const Credit& standing() const { return credit_; }
  bool bounds() const { return !(credit_ == Credit()); }
  // Bytes, headers included, that a lane may take which has `outstanding_bytes` and took `position` bytes so far.
  std::uint64_t room(std::uint64_t outstanding_bytes, std::uint64_t position) const;
  // The lane waits for its turn: at `position` the limit is reached.
  bool is_held(std::uint64_t position) const { return position >= credit_.limit; }
  // A segment was taken.
  void took() { took_at_ = now_; }

 private:
  Credit credit_;
  std::uint64_t edition_ = 0;
  TimePoint now_{}, took_at_{};
};

}  // namespace railweave::protocol
