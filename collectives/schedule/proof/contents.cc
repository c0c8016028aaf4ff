#include "collectives/schedule/proof/contents.h"

#include <algorithm>

namespace railweave::collectives::proof {

// Returns the index of the first stretch that ends beyond `offset`.
std::size_t Contents::first_after(std::size_t offset) const {
  const auto ends_before = [](const Stretch& one, std::size_t at) { return one.end <= at; };
  return std::size_t(std::lower_bound(stretches_.begin(), stretches_.end(), offset, ends_before) - stretches_.begin());
}

void Contents::clear(std::size_t begin, std::size_t end) {
  std::size_t i = first_after(begin);
  if (i < stretches_.size() && stretches_[i].begin < begin) {
    const Stretch whole = stretches_[i];
    stretches_[i++].end = begin;
    if (whole.end > end) {  // an element cut in two counts as never written
      Stretch tail = whole;
      tail.begin = end + (whole.element_bytes - (end - whole.begin) % whole.element_bytes) % whole.element_bytes;
      tail.first += (tail.begin - whole.begin) / whole.element_bytes;
      if (tail.begin < tail.end) stretches_.insert(stretches_.begin() + std::ptrdiff_t(i), tail);
      return;
    }
  }
  std::size_t last = i;
  while (last < stretches_.size() && stretches_[last].end <= end) ++last;
  if (last < stretches_.size() && stretches_[last].begin < end) {
    Stretch& tail = stretches_[last];
    const std::size_t lost = (end - tail.begin + tail.element_bytes - 1) / tail.element_bytes;
    tail.begin += lost * tail.element_bytes;
    tail.first += lost;
  }
  stretches_.erase(stretches_.begin() + std::ptrdiff_t(i), stretches_.begin() + std::ptrdiff_t(last));
}

void Contents::write(std::size_t offset_bytes, std::size_t element_bytes, std::span<const Run> runs) {
  std::size_t end = offset_bytes;
  for (const Run& run : runs) end += run.count * element_bytes;
  if (end == offset_bytes) return;
  clear(offset_bytes, end);
  std::size_t i = first_after(offset_bytes), at = offset_bytes;
  for (const Run& run : runs) {
    const std::size_t until = at + run.count * element_bytes;
    stretches_.insert(stretches_.begin() + std::ptrdiff_t(i++),
                      Stretch{at, until, element_bytes, run.symbol, run.first});
    at = until;
  }
}

bool Contents::read(std::size_t offset_bytes, std::size_t element_bytes, std::size_t count,
                    std::vector<Run>& runs) const {
  runs.clear();
  std::size_t at = offset_bytes;
  const std::size_t end = offset_bytes + count * element_bytes;
  for (std::size_t i = first_after(at); at < end; ++i) {
    if (i == stretches_.size() || stretches_[i].begin > at) return false;
    const Stretch& one = stretches_[i];
    const std::size_t until = std::min(end, one.end);
    if (one.element_bytes != element_bytes || (at - one.begin) % element_bytes != 0) return false;
    const Run run{(until - at) / element_bytes, one.symbol, one.first + (at - one.begin) / element_bytes};
    if ((until - at) % element_bytes != 0) return false;
    if (!runs.empty() && runs.back().symbol == run.symbol && runs.back().first + runs.back().count == run.first)
      runs.back().count += run.count;
    else
      runs.push_back(run);
    at = until;
  }
  return true;
}

}  // namespace railweave::collectives::proof
