#include "collectives/schedule/accesses.h"

#include <algorithm>

namespace railweave::collectives {

std::size_t Accesses::cover(Runs& runs, std::size_t begin, std::size_t end) {
  const auto ends_before = [](const Run& run, std::size_t at) { return run.end <= at; };
  std::size_t i = std::size_t(std::lower_bound(runs.begin(), runs.end(), begin, ends_before) - runs.begin());
  const auto split = [&runs](std::size_t which, std::size_t at) {
    Run head = runs[which];
    head.end = at;
    runs[which].begin = at;
    runs.insert(runs.begin() + std::ptrdiff_t(which), head);
  };
  if (i < runs.size() && runs[i].begin < begin) split(i++, begin);
  const std::size_t first = i;
  for (std::size_t at = begin; at < end; at = runs[i++].end) {
    const bool gap = i == runs.size() || runs[i].begin > at;
    if (gap) {
      const std::size_t until = i == runs.size() ? end : std::min(end, runs[i].begin);
      runs.insert(runs.begin() + std::ptrdiff_t(i), Run{at, until, kNone, kNone});
    } else if (runs[i].end > end) {
      split(i, end);
    }
  }
  return first;
}

void Accesses::read(const Extent& extent, std::uint32_t step, std::vector<std::uint32_t>& after) {
  Runs& runs = runs_[std::size_t(extent.place)];
  if (extent.begin == extent.end) return;
  for (std::size_t i = cover(runs, extent.begin, extent.end); i < runs.size() && runs[i].begin < extent.end; ++i) {
    if (runs[i].writer != kNone) after.push_back(runs[i].writer);
    readers_.push_back({step, runs[i].readers});
    runs[i].readers = std::uint32_t(readers_.size() - 1);
  }
}

void Accesses::write(const Extent& extent, std::uint32_t step, std::vector<std::uint32_t>& after) {
  Runs& runs = runs_[std::size_t(extent.place)];
  if (extent.begin == extent.end) return;
  const std::size_t first = cover(runs, extent.begin, extent.end);
  std::size_t i = first;
  for (; i < runs.size() && runs[i].begin < extent.end; ++i) {
    if (runs[i].writer != kNone) after.push_back(runs[i].writer);
    for (std::uint32_t r = runs[i].readers; r != kNone; r = readers_[r].older)
      if (readers_[r].step != step) after.push_back(readers_[r].step);
  }
  runs[first] = Run{extent.begin, extent.end, step, kNone};
  runs.erase(runs.begin() + std::ptrdiff_t(first + 1), runs.begin() + std::ptrdiff_t(i));
}

}  // namespace railweave::collectives
