#include "search.h"

#include <unordered_map>
#include <utility>

namespace railweave::collectives_test {
namespace {

// What of a state decides how it goes on.
std::string key_of(const State& state) {
  std::string key;
  for (const Rank& rank : state) {
    key += char(rank.next);
    for (const int done : rank.done) key += char(done);
    for (const auto& standing : rank.scheduler.standings()) {
      key += char(standing.id);
      key += char(standing.live + 2 * standing.waits_for_turn);
    }
    key += '|';
  }
  return key;
}

class Search {
 public:
  explicit Search(const World& world) : world_(world) {}

  Found run() {
    add(beginning(world_));
    for (std::size_t at = 0; at < states_.size(); ++at) explore(at);
    return judge();
  }

 private:
  std::size_t add(State state) {
    const auto [found, is_new] = known_.try_emplace(key_of(state), states_.size());
    if (is_new) {
      states_.push_back(std::move(state));
      before_.emplace_back();
    }
    return found->second;
  }

  template <class Move>
  void edge(std::size_t from, const Move& move) {
    State next = states_[from];
    move(next);
    const std::size_t target = add(std::move(next));
    before_[target].push_back(from);
  }

  void explore(std::size_t at) {
    for (std::size_t r = 0; r < world_.programs.size(); ++r) {
      if (may_act(world_, states_[at], r)) edge(at, [&](State& next) { act(world_, next, r); });
      for (std::size_t o = 0; o < world_.operations.size(); ++o)
        if (may_step(world_, states_[at], r, o)) edge(at, [&](State& next) { step(world_, next, r, o); });
      if (may_pass_turn(world_, states_[at], r)) edge(at, [&](State& next) { pass_turn(next, r); });
    }
  }

  Found judge() const {
    std::vector<bool> good(states_.size());
    std::vector<std::size_t> line;
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (over(world_, states_[i])) good[i] = true, line.push_back(i);
    for (std::size_t i = 0; i < line.size(); ++i)
      for (const std::size_t before : before_[line[i]])
        if (!good[before]) good[before] = true, line.push_back(before);
    Found found{states_.size(), 0, ""};
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (!good[i] && ++found.dead == 1) found.example = text(world_, states_[i]);
    return found;
  }

  const World& world_;
  std::vector<State> states_;
  std::vector<std::vector<std::size_t>> before_;  // by state
  std::unordered_map<std::string, std::size_t> known_;
};

}  // namespace

Found search(const World& world) { return Search(world).run(); }

}  // namespace railweave::collectives_test
