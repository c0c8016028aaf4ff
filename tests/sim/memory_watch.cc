#include "tests/sim/memory_watch.h"

#include <algorithm>
#include <cstring>

namespace railweave::sim {
namespace {

constexpr std::size_t kKeptBytes = 2 << 20;

}  // namespace

void MemoryWatch::lend(std::span<const std::byte> buffer) {
  if (!buffer.empty()) ranges_[buffer.data()] = {buffer.data() + buffer.size(), true, {}};
}

void MemoryWatch::take_back(std::vector<std::byte> buffer) {
  if (buffer.empty()) return;
  // A send's buffer was never lent, and has no range.
  if (const auto lent = ranges_.find(buffer.data()); lent != ranges_.end())
    lent->second = {buffer.data() + buffer.size(), false, {}};
  std::ranges::fill(buffer, kPoison);
  taken_back_bytes_ += buffer.size();
  taken_back_.push_back(std::move(buffer));
  while (taken_back_bytes_ > kKeptBytes) {
    const std::vector<std::byte>& oldest = taken_back_.front();
    if (found_.empty()) found_ = check(oldest);
    ranges_.erase(oldest.data());
    taken_back_bytes_ -= oldest.size();
    taken_back_.pop_front();
  }
}

std::map<const std::byte*, MemoryWatch::Range>::const_iterator MemoryWatch::find(
    std::span<const std::byte> place) const {
  auto it = ranges_.upper_bound(place.data() + place.size() - 1);
  if (it == ranges_.begin()) return ranges_.end();
  --it;
  return place.data() < it->second.end ? it : ranges_.end();
}

std::string MemoryWatch::landing(std::span<const std::byte> place) const {
  if (place.empty() || place.data() == nullptr) return {};
  const auto it = find(place);
  if (it == ranges_.end()) return {};
  if (!it->second.lent) return "bytes are to land in memory that was taken back";
  if (place.data() < it->first || place.data() + place.size() > it->second.end)
    return "bytes are to land across a buffer's end";
  return {};
}

std::string MemoryWatch::landed(std::span<const std::byte> place) {
  if (place.empty() || place.data() == nullptr) return {};
  const auto found = find(place);
  // taken back meanwhile: check() finds a write
  if (found == ranges_.end() || !found->second.lent) return {};
  auto& landed = ranges_.at(found->first).landed;
  const std::byte* end = place.data() + place.size();
  const auto after = landed.lower_bound(place.data());
  if (after != landed.end() && after->first < end) return "the same bytes landed twice";
  if (after != landed.begin() && std::prev(after)->second > place.data()) return "the same bytes landed twice";
  landed[place.data()] = end;
  return {};
}

std::string MemoryWatch::check(const std::vector<std::byte>& buffer) const {
  // The fast check for the many intact buffers: the first byte is poison, and each byte equals the next.
  if (buffer.front() == kPoison && std::memcmp(buffer.data(), buffer.data() + 1, buffer.size() - 1) == 0) return {};
  const auto it = std::ranges::find_if(buffer, [](std::byte b) { return b != kPoison; });
  return "byte " + std::to_string(it - buffer.begin()) + " of " + std::to_string(buffer.size()) +
         " was written after the buffer was taken back";
}

std::string MemoryWatch::check() {
  for (const auto& buffer : taken_back_)
    if (found_.empty()) found_ = check(buffer);
  return found_;
}

}  // namespace railweave::sim
