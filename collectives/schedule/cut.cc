#include "collectives/schedule/cut.h"

#include <algorithm>
#include <cassert>

namespace railweave::collectives {
namespace {

constexpr std::size_t kLineBytes = 128;

std::size_t elements_between_cuts(const Problem& problem) {
  return kLineBytes % problem.element_bytes == 0 ? kLineBytes / problem.element_bytes : 1;
}

std::size_t divided_up(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }

}  // namespace

Layout Layout::of_counts(const std::vector<std::size_t>& counts) {
  Layout layout;
  layout.begin_.reserve(counts.size() + 1);
  layout.begin_.push_back(0);
  for (const std::size_t count : counts) layout.begin_.push_back(layout.begin_.back() + count);
  return layout;
}

Layout Layout::even(const Problem& problem, std::size_t count, int shards) {
  assert(shards > 0);
  const std::size_t unit = elements_between_cuts(problem);
  const std::size_t units = divided_up(count, unit);
  Layout layout;
  layout.begin_.reserve(std::size_t(shards) + 1);
  for (std::size_t i = 0; i <= std::size_t(shards); ++i)
    layout.begin_.push_back(std::min(count, units * i / std::size_t(shards) * unit));
  return layout;
}

Chunks::Chunks(const Problem& problem, Range whole) : whole_(whole), unit_(elements_between_cuts(problem)) {
  const std::size_t most = std::max<std::size_t>(problem.chunk_bytes, 1);
  units_ = whole.count == 0 ? 0 : divided_up(whole.end(), unit_) - whole.first / unit_;
  chunks_ = std::min(units_, divided_up(whole.count * problem.element_bytes, most));
}

std::size_t Chunks::begin(std::size_t chunk) const {
  return std::clamp((whole_.first / unit_ + units_ * chunk / chunks_) * unit_, whole_.first, whole_.end());
}

Range Chunks::operator[](std::size_t chunk) const {
  if (chunk >= chunks_) return {whole_.end(), 0};
  return {begin(chunk), begin(chunk + 1) - begin(chunk)};
}

std::size_t Chunks::longest() const {
  return chunks_ <= 1 ? whole_.count : std::min(whole_.count, divided_up(units_, chunks_) * unit_);
}

}  // namespace railweave::collectives
