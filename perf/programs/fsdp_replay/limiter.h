// Which all-gathers a CPU thread may issue ahead of the device: FSDP's limiters, which bound memory
// (docs/guide/replay.md).
#pragma once

#include <cstddef>
#include <string_view>

#include "railweave/status.h"

namespace railweave::perf::fsdp_replay {

enum class LimiterKind { none, block_and_flush, sliding };
inline constexpr std::string_view kLimiterChoices = "none, block_and_flush or sliding";
std::string_view name_of(LimiterKind kind);
// Errors: invalid_argument, saying what was found and what there is.
Result<LimiterKind> parse_limiter(std::string_view text);

// The limiter of one rank. An all-gather is issued once, the computing that uses it launched once, its memory freed
// once. A kept unit's all-gather counts as freed when its forward ends, though its memory is there until its backward
// ends.
class Limiter {
 public:
  // `bytes` of block_and_flush are ignored, and `gathers` of sliding.
  Limiter(LimiterKind kind, int gathers, std::size_t bytes) : kind_(kind), gathers_(gathers), bytes_(bytes) {}

  // Whether the thread has to wait before it issues one of so many bytes. Changes with freed() only, once it is true.
  bool must_wait(std::size_t bytes);
  void issued(std::size_t bytes) { unfreed_bytes_ += bytes; }
  void launched();
  // REQUIRES: launched and issued, and not freed yet.
  void freed(std::size_t bytes);
  // Something was launched and is not freed.
  bool waits_for_any() const { return launched_ > 0; }

 private:
  const LimiterKind kind_;
  const int gathers_;
  const std::size_t bytes_;
  std::size_t unfreed_bytes_ = 0;
  int launched_ = 0;     // and not freed: what can be waited for
  int since_flush_ = 0;  // launched
};

}  // namespace railweave::perf::fsdp_replay
