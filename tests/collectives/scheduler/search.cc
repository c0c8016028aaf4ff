#include "search.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "local_states.h"

namespace railweave::collectives_test {
namespace {

using Locals = std::array<LocalStates::Number, 4>;  // by rank

std::uint64_t packed(const Locals& locals) {
  std::uint64_t all = 0;
  for (const auto one : locals) all = all << 16 | one;
  return all;
}

class Search {
 public:
  explicit Search(const World& world) : world_(world) {
    const State first = beginning(world);
    for (std::size_t r = 0; r < first.size(); ++r) ranks_.emplace_back(world, r, first[r]);
  }

  Found run() {
    add({});
    for (std::size_t at = 0; at < states_.size(); ++at) {
      const Locals from = states_[at];
      each_edge(from, [&](std::size_t r, const Edge& edge) { add(with(from, r, edge.target)); });
    }
    return judge();
  }

 private:
  using Edge = LocalStates::Edge;

  static Locals with(Locals locals, std::size_t r, LocalStates::Number target) {
    locals[r] = target;
    return locals;
  }

  void add(const Locals& locals) {
    if (known_.try_emplace(packed(locals), std::uint32_t(states_.size())).second) states_.push_back(locals);
  }

  template <class Visit>
  void each_edge(const Locals& locals, const Visit& visit) {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (const Edge& edge : ranks_[r].explored(locals[r]).edges)
        if (peers_let(world_, edge.move, r,
                      [&](std::size_t rank) { return ranks_[rank][locals[rank]].rank.done[edge.move.which]; }))
          visit(r, edge);
  }

  std::size_t progress(const Locals& locals) const {
    std::size_t sum = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) sum += ranks_[r][locals[r]].progress;
    return sum;
  }

  bool over(const Locals& locals) const {
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (!ranks_[r][locals[r]].over) return false;
    return true;
  }

  bool at_rest(const Locals& locals) {
    bool moves = false;
    each_edge(locals, [&](std::size_t, const Edge& edge) { moves |= comes_by_itself(edge.move); });
    return !moves;
  }

  // True: a move that comes by itself leads from here to the end. REQUIRES: the states behind such moves have been
  // judged.
  bool leads_on(const Locals& locals) {
    bool good = false;
    each_edge(locals, [&](std::size_t r, const Edge& edge) {
      good = good || (comes_by_itself(edge.move) && good_[known_.at(packed(with(locals, r, edge.target)))]);
    });
    return good;
  }

  // Stalls one rank after the other, from a state at rest until something moves. True: this leads to the end.
  bool stalls_lead_on(Locals locals, bool at_once) {
    std::vector<Locals> before;
    while (std::ranges::count(before, locals) == 0) {
      before.push_back(locals);
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const Edge* stall = nullptr;
        for (const Edge& edge : ranks_[r].explored(locals[r]).edges)
          if (edge.move.kind == Move::Kind::stall && (at_once || stall == nullptr)) stall = &edge;
        if (stall == nullptr) continue;
        locals[r] = stall->target;
        if (!at_rest(locals)) return good_[known_.at(packed(locals))];
      }
    }
    return false;
  }

  // Judges the furthest states first: moves that come by themselves lead further, and stalls lead to states that have
  // such moves.
  Found judge() {
    std::vector<std::vector<std::uint32_t>> moving, resting;  // by progress
    good_.resize(states_.size());
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (over(states_[i])) good_[i] = true;
      auto& all = !good_[i] && at_rest(states_[i]) ? resting : moving;
      const std::size_t at = progress(states_[i]);
      if (all.size() <= at) all.resize(at + 1);
      all[at].push_back(std::uint32_t(i));
    }
    resting.resize(std::max(moving.size(), resting.size()));
    moving.resize(resting.size());
    for (std::size_t at = moving.size(); at-- > 0;) {
      for (const auto i : moving[at]) good_[i] = good_[i] || leads_on(states_[i]);
      for (const auto i : resting[at]) good_[i] = stalls_lead_on(states_[i], true) && stalls_lead_on(states_[i], false);
    }
    Found found{states_.size(), 0, ""};
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (!good_[i] && ++found.dead == 1) found.example = text_of(states_[i]);
    return found;
  }

  std::string text_of(const Locals& locals) const {
    State state;
    for (std::size_t r = 0; r < ranks_.size(); ++r) state.push_back(ranks_[r][locals[r]].rank);
    return text(world_, state);
  }

  const World& world_;
  std::vector<LocalStates> ranks_;
  std::vector<Locals> states_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
  std::vector<bool> good_;  // by state: leads to the end
};

}  // namespace

Found search(const World& world) { return Search(world).run(); }

}  // namespace railweave::collectives_test
