// The global ranks of a group, by rank of the group. Evenly spaced ranks, the usual case, take no memory of their own.
// Threads: const functions from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace railweave::explain {

class RankList {
 public:
  RankList() = default;
  // `count` ranks: first, first + step, ...
  RankList(std::uint64_t first, std::uint64_t step, std::size_t count) : first_(first), step_(step), count_(count) {}
  explicit RankList(std::vector<std::uint64_t> ranks);

  std::size_t size() const { return count_; }
  // REQUIRES: index < size().
  std::uint64_t operator[](std::size_t index) const {
    return listed_.empty() ? first_ + index * step_ : listed_[index];
  }
  // Returns the rank of the group that `rank` is; none: the group does not have `rank`.
  std::optional<std::size_t> index_of(std::uint64_t rank) const;
  auto operator<=>(const RankList&) const = default;

 private:
  std::uint64_t first_ = 0, step_ = 1;
  std::size_t count_ = 0;
  std::vector<std::uint64_t> listed_;  // empty: evenly spaced
};

}  // namespace railweave::explain
