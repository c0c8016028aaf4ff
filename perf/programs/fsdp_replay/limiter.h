// Limits the all-gathers that a CPU thread may issue ahead of the device, as FSDP's limiters do to bound memory
// (docs/guide/replay.md).
#pragma once

#include <cstddef>
#include <string_view>

#include "railweave/status.h"

namespace railweave::perf::fsdp_replay {

enum class LimiterKind { none, block_and_flush, sliding };
inline constexpr std::string_view kLimiterChoices = "none, block_and_flush or sliding";
std::string_view name_of(LimiterKind kind);
// Errors: invalid_argument, naming the text and the choices.
Result<LimiterKind> parse_limiter(std::string_view text);

// The limiter of one rank. Each all-gather is issued once, the computing that uses its data launched once, its memory
// freed once. A kept unit's all-gather counts as freed at the end of its forward, though its memory lasts until the end
// of its backward.
class Limiter {
 public:
  // block_and_flush ignores `bytes`; sliding ignores `gathers`.
  Limiter(LimiterKind kind, int gathers, std::size_t bytes) : kind_(kind), gathers_(gathers), bytes_(bytes) {}

  // Whether the thread has to wait before it issues an all-gather of `bytes`. Once true, only freed() changes the
  // answer.
  bool must_wait(std::size_t bytes);
  void issued(std::size_t bytes) { unfreed_bytes_ += bytes; }
  void launched();
  // REQUIRES: issued and launched, and not freed yet.
  void freed(std::size_t bytes);
  // Whether some all-gather is launched and not freed.
  bool waits_for_any() const { return launched_ > 0; }

 private:
  const LimiterKind kind_;
  const int gathers_;
  const std::size_t bytes_;
  std::size_t unfreed_bytes_ = 0;
  int launched_ = 0;     // launched and not freed: the thread can wait for these
  int since_flush_ = 0;  // launched since the last flush
};

}  // namespace railweave::perf::fsdp_replay
