#include "explain/mismatch.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace railweave::explain {
namespace {

enum class Difference { none, sizes, operation };

// Operations whose inputs have the same number of elements on every rank.
constexpr std::array<std::string_view, 8> kAlike = {"all_reduce",
                                                    "all_reduce_coalesced",
                                                    "broadcast",
                                                    "reduce",
                                                    "_all_gather_base",
                                                    "_reduce_scatter_base",
                                                    "all_gather_into_tensor_coalesced",
                                                    "reduce_scatter_tensor_coalesced"};

// The library's own description of the calls is exact. It is there only while an operation is unfinished.
Difference difference(const Operation& a, const Operation& b) {
  if (!a.call.empty() && !b.call.empty()) {
    if (a.part != b.part) return a.name == b.name ? Difference::none : Difference::operation;
    if (a.call != b.call) return Difference::operation;
    return a.counts == b.counts ? Difference::none : Difference::sizes;
  }
  if (a.name != b.name) return Difference::operation;
  if (std::ranges::find(kAlike, a.name) == kAlike.end()) return Difference::none;
  if (a.dtypes != b.dtypes) return Difference::operation;
  return a.elements == b.elements ? Difference::none : Difference::sizes;
}

Mismatch compared(std::size_t group, std::uint64_t number, const std::map<std::uint64_t, const Operation*>& calls) {
  Mismatch found{.group = group, .number = number, .sizes_only = true, .classes = {}};
  for (const auto& [rank, call] : calls) {
    Difference least = Difference::operation;
    Mismatch::Class* same = nullptr;
    for (Mismatch::Class& one : found.classes) {
      const Difference d = difference(*one.call, *call);
      if (d == Difference::none) same = &one;
      least = std::min(least, d);
    }
    if (same == nullptr) {
      if (!found.classes.empty() && least == Difference::operation) found.sizes_only = false;
      same = &found.classes.emplace_back(Mismatch::Class{{}, call});
    }
    same->ranks.push_back(rank);
  }
  std::ranges::stable_sort(found.classes, std::ranges::greater(), [](const auto& one) { return one.ranks.size(); });
  return found;
}

}  // namespace

std::optional<Mismatch> find_mismatch(const Job& job) {
  for (std::size_t g = 0; g < job.groups().size(); ++g) {
    std::map<std::uint64_t, std::map<std::uint64_t, const Operation*>> calls;  // by number, then by rank
    std::set<std::uint64_t> unfinished;
    for (const auto& [rank, member] : job.groups()[g].members) {
      for (const Operation& operation : job.dumps()[member.dump].operations) {
        if (operation.group != member.group || operation.is_message) continue;
        calls[operation.number].emplace(rank, &operation);
        if (!operation.over) unfinished.insert(operation.number);
      }
    }
    for (const std::uint64_t number : unfinished)
      if (Mismatch found = compared(g, number, calls[number]); found.classes.size() > 1) return found;
  }
  return std::nullopt;
}

}  // namespace railweave::explain
