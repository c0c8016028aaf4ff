#include "explain/waits.h"

#include <map>
#include <optional>
#include <utility>

namespace railweave::explain {
namespace {

// An operation behind others of its group waits for nobody yet: the oldest of them that does stands for it.
const Operation* first_that_waits(const Dump& dump, const Operation& behind) {
  if (!behind.awaited.empty()) return &behind;
  for (const Operation& one : dump.operations)
    if (!one.over && one.group == behind.group && !one.awaited.empty()) return &one;
  return &behind;
}

// Walks depth first, and enters each operation once. The path is a list, because a job may have more ranks than the
// stack has room for.
class Search {
 public:
  explicit Search(const Job& job) : job_(job) {}

  Waits run() {
    for (std::size_t d = 0; d < job_.dumps().size(); ++d)
      if (const Operation* const operation = hangs_in(job_.dumps()[d])) walk({job_.dumps()[d].rank(), d, operation});
    return std::move(waits_);
  }

 private:
  struct Step {
    Waiting at;
    std::size_t next = 0;  // index in awaited
  };

  void walk(const Waiting& start) {
    enter(start);
    while (!path_.empty()) {
      Step& step = path_.back();
      if (step.next == step.at.operation->awaited.size()) {
        places_[step.at.operation] = kLeft;
        path_.pop_back();
        continue;
      }
      const std::size_t awaited = step.at.operation->awaited[step.next++];
      if (const auto next = follow(step.at, awaited)) enter(*next);
    }
  }

  void enter(const Waiting& at) {
    const auto [place, fresh] = places_.try_emplace(at.operation, path_.size());
    if (fresh) return path_.push_back({at});
    if (place->second == kLeft) return;
    std::vector<Waiting>& circle = waits_.circles.emplace_back();
    for (std::size_t i = place->second; i < path_.size(); ++i) circle.push_back(path_[i].at);
  }

  // Returns where `awaited`, a rank of the group, hangs. None: the waiting ends there, which is noted.
  std::optional<Waiting> follow(const Waiting& from, std::size_t awaited) {
    const Operation& operation = *from.operation;
    const Job::Group& group = job_.groups()[job_.group_of(from.dump, operation)];
    const std::uint64_t rank = group.ranks[awaited];
    const auto dump = job_.dump_of(rank);
    if (!dump) return waits_.without_dump.insert(rank), std::nullopt;
    const Dump& theirs = job_.dumps()[*dump];
    if (const auto member = group.members.find(rank); member != group.members.end() && !operation.is_message) {
      const std::size_t number = member->second.group;
      for (const Operation& one : theirs.operations) {
        if (one.over || one.is_message || one.group != number || one.number != operation.number) continue;
        if (came_late(job_.dumps()[from.dump], theirs, one)) return waits_.elsewhere.insert(rank), std::nullopt;
        return Waiting{rank, *dump, first_that_waits(theirs, one)};
      }
      if (theirs.groups[number].called >= operation.number) return waits_.finished.insert(rank), std::nullopt;
    }
    const Operation* const hangs = hangs_in(theirs);
    if (hangs == nullptr || !hangs->has_waiter) return waits_.elsewhere.insert(rank), std::nullopt;
    return Waiting{rank, *dump, hangs};
  }

  static constexpr std::size_t kLeft = ~std::size_t{0};  // the operation is not on the path any more
  const Job& job_;
  Waits waits_;
  std::vector<Step> path_;
  std::map<const Operation*, std::size_t> places_;  // index in path_, or kLeft
};

}  // namespace

bool came_late(const Dump& dump, const Dump& theirs, const Operation& operation) {
  return dump.host == theirs.host && dump.reason == "timeout" && operation.created_ns > dump.time_ns;
}

const Operation* hangs_in(const Dump& dump) {
  const Operation* found = nullptr;
  const auto weight = [](const Operation& o) { return std::pair(!o.has_waiter, o.awaited.empty()); };
  for (const Operation& one : dump.operations)
    if (!one.over && (found == nullptr || weight(one) < weight(*found))) found = &one;
  return found == nullptr ? nullptr : first_that_waits(dump, *found);
}

Waits follow_waits(const Job& job) { return Search(job).run(); }

}  // namespace railweave::explain
