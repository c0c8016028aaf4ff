#include "fsdp_replay/limiter.h"

#include <cassert>
#include <string>

namespace railweave::perf::fsdp_replay {
namespace {

constexpr LimiterKind kKinds[] = {LimiterKind::none, LimiterKind::block_and_flush, LimiterKind::sliding};

}  // namespace

std::string_view name_of(LimiterKind kind) {
  switch (kind) {
    case LimiterKind::none: return "none";
    case LimiterKind::block_and_flush: return "block_and_flush";
    case LimiterKind::sliding: return "sliding";
  }
  return "";
}

Result<LimiterKind> parse_limiter(std::string_view text) {
  for (const LimiterKind kind : kKinds)
    if (text == name_of(kind)) return kind;
  return Status(Code::invalid_argument, Scope::request,
                "found '" + std::string(text) + "', expected " + std::string(kLimiterChoices));
}

bool Limiter::must_wait(std::size_t bytes) {
  switch (kind_) {
    case LimiterKind::none: return false;
    case LimiterKind::block_and_flush:
      if (since_flush_ < gathers_) return false;
      if (launched_ > 0) return true;
      since_flush_ = 0;
      return false;
    case LimiterKind::sliding: return launched_ > 0 && unfreed_bytes_ + bytes > bytes_;
  }
  return false;
}

void Limiter::launched() {
  ++launched_;
  ++since_flush_;
}

void Limiter::freed(std::size_t bytes) {
  assert(launched_ > 0 && unfreed_bytes_ >= bytes);
  --launched_;
  unfreed_bytes_ -= bytes;
}

}  // namespace railweave::perf::fsdp_replay
