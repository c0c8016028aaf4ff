// How much may be on its way to this host at once (decision D4, incast). Charged only with bytes announced (a segment
// header tells its message's true size) and not yet arrived, never with posted capacity. The pool never holds back the
// oldest unfinished receive of a stream: RecvStream gives that one leave for its next segment outside the cap.
#pragma once

#include <cstdint>

namespace railweave::protocol {

class CreditPool {
 public:
  explicit CreditPool(std::uint64_t cap_bytes) : cap_bytes_(cap_bytes) {}

  void announce(std::uint64_t bytes) { charged_bytes_ += bytes; }
  // Bytes arrived, or their message ended otherwise.
  void settle(std::uint64_t bytes);

  bool has_room() const { return charged_bytes_ < cap_bytes_; }
  std::uint64_t charged_bytes() const { return charged_bytes_; }
  std::uint64_t cap_bytes() const { return cap_bytes_; }

 private:
  const std::uint64_t cap_bytes_;
  std::uint64_t charged_bytes_ = 0;
};

}  // namespace railweave::protocol
