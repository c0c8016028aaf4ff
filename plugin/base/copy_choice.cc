#include "base/copy_choice.h"

#include <algorithm>

namespace railweave {
namespace {

constexpr std::size_t kPatienceMax = 128 * MiB;
constexpr double kWeight = 0.125, kWeightWhenStale = 0.5;  // weights of the newest sample
constexpr double kOutlier = 4;  // a sample counts as at most 4 times the average: the thread may have lost its core

}  // namespace

bool CopyCost::stale() const { return ns_per_byte_ == 0 || unmeasured_bytes_ >= patience_bytes_; }

void CopyCost::sample(std::size_t bytes, Nanos took) {
  if (bytes < kSampleBytesMin) return;
  const double seen = std::max(1.0, double(took.count())) / double(bytes);
  if (ns_per_byte_ == 0) ns_per_byte_ = seen;
  double weight = kWeight;
  if (stale()) {
    weight = seen < ns_per_byte_ ? 1 : kWeightWhenStale;  // disturbances make a copy slower, never faster
    patience_bytes_ = std::min(2 * patience_bytes_, kPatienceMax);
  }
  ns_per_byte_ += weight * (std::min(seen, kOutlier * ns_per_byte_) - ns_per_byte_);
  unmeasured_bytes_ = 0;
}

// The cost of both inline copies. If both ends are idle otherwise, the copies overlap and the slower one counts. If
// both are busy, the sum counts. The result is the mean of the two.
double CopyChoice::inline_ns_per_byte() const {
  const double ours = inline_.ns_per_byte();
  const double theirs = writer_ns_per_byte_ > 0 ? std::min(writer_ns_per_byte_, kOutlier * ours) : ours;
  return std::max(ours, theirs) + std::min(ours, theirs) / 2;
}

void CopyChoice::sample(bool fetched, std::size_t bytes, Nanos took) {
  if (bytes < CopyCost::kSampleBytesMin) return;
  (fetched ? fetched_ : inline_).sample(bytes, took);
  (fetched ? inline_ : fetched_).pass(bytes);
  const bool both_known = fetched_.ns_per_byte() > 0 && inline_.ns_per_byte() > 0;
  const bool best = both_known ? fetched_.ns_per_byte() < inline_ns_per_byte() : fetched;
  wants_fetch_ = (best ? inline_ : fetched_).stale() ? !best : best;
}

}  // namespace railweave
