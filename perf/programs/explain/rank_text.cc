#include "explain/rank_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace railweave::explain {
namespace {

constexpr std::size_t kRangesShown = 16, kTensorsShown = 4;

bool is_own(const Frame& frame) {
  for (const std::string_view library :
       {"-packages/torch/", "/torch/distributed/", "-packages/railweave/", "/railweave/_", "/threading.py", "<frozen "})
    if (frame.filename.find(library) != std::string::npos) return false;
  return true;
}

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string ranks_text(const std::vector<std::uint64_t>& ranks) {
  std::string text;
  std::size_t shown = 0, ranges = 0;
  while (shown < ranks.size() && ranges < kRangesShown) {
    std::size_t end = shown + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - shown == 2) end = shown + 1;  // two ranks are no range
    text += fmt::format("{}{}", ranges++ == 0 ? "" : ", ", ranks[shown]);
    if (end - shown > 2) text += fmt::format(" to {}", ranks[end - 1]);
    shown = end;
  }
  if (shown < ranks.size()) text += fmt::format(" and {} more", ranks.size() - shown);
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

std::string operation_text(const Job::Group& group, const Operation& operation) {
  if (!operation.is_message) return fmt::format("{} number {}", operation.name, operation.number);
  const char* const way = operation.name == "send" ? "to" : "from";
  if (operation.peer < 0 || std::size_t(operation.peer) >= group.ranks.size())
    return fmt::format("{} {} any rank", operation.name, way);
  return fmt::format("{} {} rank {}", operation.name, way, group.ranks[std::size_t(operation.peer)]);
}

std::string group_text(const Job::Group& group) {
  return fmt::format("group '{}' of {} ranks", group.name, group.ranks.size());
}

std::string call_text(const Operation& operation) {
  std::string text = operation.call.empty() ? operation.name : operation.call;
  const std::size_t tensors = std::min({operation.elements.size(), operation.dtypes.size(), kTensorsShown});
  for (std::size_t i = 0; i < tensors; ++i)
    text += fmt::format("{}{} {}", i == 0 ? ", elements " : " + ", operation.elements[i], operation.dtypes[i]);
  return tensors < operation.elements.size() ? text + " + ..." : text;
}

std::string place_text(const std::vector<Frame>& frames) {
  if (frames.empty()) return "";
  const auto own = std::ranges::find_if(frames, is_own);
  const Frame& shown = own == frames.end() ? frames.front() : *own;
  return fmt::format("{}:{} in {}", name_in(shown.filename), shown.line, shown.name);
}

std::string place_of(const Dump& dump, const Operation* operation) {
  return place_text(operation != nullptr && !operation->frames.empty() ? operation->frames : dump.main);
}

std::vector<std::uint64_t> awaited_ranks(const Job::Group& group, const Operation& operation) {
  std::vector<std::uint64_t> ranks;
  for (const std::size_t rank : operation.awaited) ranks.push_back(group.ranks[rank]);
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace railweave::explain
