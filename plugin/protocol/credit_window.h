// CreditWindow: how much the receiver allows this end to send by one lane (docs/internals/credit_windows.md). Pure:
// time comes in by observe().
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"

namespace railweave::protocol {

// A receiver's statement about one lane.
struct Credit {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  // bytes that may be outstanding: taken by the lane, not acknowledged by the receiver's kernel; kNone: no limit
  std::uint64_t window_bytes = kNone;
  // Position that segments may reach, in bytes that the lane took since it began. The tail of a message may make the
  // last segment a quarter larger.
  std::uint64_t limit = kNone;  // kNone: no limit
  friend bool operator==(const Credit&, const Credit&) = default;
};

class CreditWindow {
 public:
  // bytes of a header and one line of payload; less credit lets no segment go
  static constexpr std::uint64_t kLeastBytes = 192;
  // time after which a receiver that lets no segment go is overridden
  static constexpr Nanos kStarvedMost = std::chrono::seconds(1);
  static constexpr std::uint64_t kStarvedBytes = 16 * KiB;  // window of an override, for one segment

  // A segment that was sent although the receiver's credit allowed none.
  struct Override {
    Credit said;              // the receiver's statement
    Nanos let_nothing_go{0};  // how long data had waited
  };

  // `first` holds until the receiver's first statement.
  explicit CreditWindow(const Credit& first = {}) : credit_(first) {}

  // Takes in a statement of the receiver. The statement ends an override, and holds until the next one. A statement
  // whose edition is not higher than the last one's has no effect.
  void apply(std::uint64_t edition, const Credit& credit);
  // Notes the time, which does not go back. At most 100 ms since the last call count. `position`: bytes that the lane
  // took so far. `waits`: data waits to be sent.
  void observe(TimePoint now, std::uint64_t position, bool waits);
  // The lane took a segment, which ends an override. Returns the first override of the lane, once.
  std::optional<Override> took();
  // Data waits, and the credit has too little room for a segment.
  void refuse() { refused_ = true; }
  // Total time for which data waited for credit.
  Nanos without_credit() const { return without_credit_; }

  // The credit in force: the receiver's statement, or its override. Both kNone: no limit.
  Credit standing() const { return starved_ ? Credit{.window_bytes = kStarvedBytes} : credit_; }
  // The receiver's last statement sets a limit.
  bool bounds() const { return !(credit_ == Credit()); }
  // Bytes, headers included, that a lane with `outstanding_bytes` may take now, after `position` bytes so far.
  std::uint64_t room(std::uint64_t outstanding_bytes, std::uint64_t position) const;
  // The lane waits for its turn: at `position` the limit lets no segment go.
  bool is_held(std::uint64_t position) const;

 private:
  Credit credit_;
  std::uint64_t edition_ = 0;
  bool refused_ = false;  // refuse() was called; cleared by took(), and by an observe() at which no data waits
  Nanos without_credit_{0};
  bool starved_ = false;           // the receiver's statement is overridden
  bool reported_ = false;          // took() has returned the first override
  TimePoint now_{}, let_go_at_{};  // last observe(); last time at which the credit let a segment go or no data waited
};

}  // namespace railweave::protocol
