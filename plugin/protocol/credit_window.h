// What the receiver allows to be sent by one lane (docs/internals/credit_windows.md): the sender's side. Pure: the time
// comes in by poll(). One thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"

namespace railweave::protocol {

// What a receiver says of a lane.
struct Credit {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  // that may be outstanding: taken by the lane, and not acknowledged by the receiver's kernel; kNone: any
  std::uint64_t window_bytes = kNone;
  // The position that segments may reach: bytes that the lane took since it began. The tail of a message may make the
  // last segment a quarter larger.
  std::uint64_t limit = kNone;  // kNone: any
  friend bool operator==(const Credit&, const Credit&) = default;
};

class CreditWindow {
 public:
  // a header and a line of payload: less lets nothing go
  static constexpr std::uint64_t kLeastBytes = 192;
  // a receiver that lets nothing go for so long is overridden
  static constexpr Nanos kStarvedMost = std::chrono::seconds(1);
  static constexpr std::uint64_t kStarvedBytes = 16 * KiB;  // the window of an override, for one segment

  // A segment that went against the receiver's word.
  struct Override {
    Credit said;              // the receiver's word
    Nanos let_nothing_go{0};  // so long, while data waited
  };

  // `first` stands until the receiver says more.
  explicit CreditWindow(const Credit& first = {}) : credit_(first) {}

  // The receiver said so. It stands until the receiver says more, and ends an override. An edition that is not higher
  // than the last one is without effect.
  void apply(std::uint64_t edition, const Credit& credit);
  // With a time that does not go back; since the last look 100 ms of it count, at most. `position`: bytes that the lane
  // took so far. `waits`: data does.
  void poll(TimePoint now, std::uint64_t position, bool waits);
  // A segment was taken. An override is over. Returns the first override ever.
  std::optional<Override> took();
  // Data waits, and there is too little room for it.
  void refuse() { refused_ = true; }
  // How long data waited for room, ever.
  Nanos without_credit() const { return without_credit_; }

  // What stands: the receiver's word, or the override of it. Both kNone: the receiver bounds nothing.
  Credit standing() const { return starved_ ? Credit{.window_bytes = kStarvedBytes} : credit_; }
  bool bounds() const { return !(credit_ == Credit()); }
  // Bytes, headers included, that a lane may take which has `outstanding_bytes` and took `position` bytes so far.
  std::uint64_t room(std::uint64_t outstanding_bytes, std::uint64_t position) const;
  // The lane waits for its turn: at `position` the limit lets no segment go.
  bool is_held(std::uint64_t position) const;

 private:
  Credit credit_;
  std::uint64_t edition_ = 0;
  bool refused_ = false;  // since the last look, or before it and nothing was taken since
  Nanos without_credit_{0};
  bool starved_ = false;           // the receiver's word is overridden
  bool reported_ = false;          // took() returned the first override
  TimePoint now_{}, let_go_at_{};  // the last look; and when the receiver let something go, or nothing waited
};

}  // namespace railweave::protocol
