#include "search.h"

#include <optional>
#include <unordered_map>

namespace railweave::collectives_test {
namespace {

using collectives::Scheduler;

struct Rank {
  Scheduler scheduler;
  std::size_t next = 0;                    // of its program
  std::vector<Scheduler::Id> ids;          // by operation; 0: not issued
  std::vector<int> done;                   // steps, by operation
  TimePoint now{std::chrono::seconds(1)};
};

using State = std::vector<Rank>;

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
  explicit Search(const SmallWorld& world) : world_(world) {}

  Found run() {
    State first(world_.programs.size());
    for (Rank& rank : first) {
      rank.scheduler = Scheduler(world_.window);
      rank.ids.resize(world_.operations.size());
      rank.done.resize(world_.operations.size());
    }
    add(std::move(first));
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

  void edge(std::size_t from, State to) {
    const std::size_t target = add(std::move(to));
    before_[target].push_back(from);
  }

  void explore(std::size_t at) {
    for (std::size_t r = 0; r < world_.programs.size(); ++r) {
      if (auto next = acted(states_[at], r)) edge(at, std::move(*next));
      bool stuck = true;
      for (std::size_t o = 0; o < world_.operations.size(); ++o) {
        auto next = stepped(states_[at], r, o);
        if (!next) continue;
        stuck = false;
        edge(at, std::move(*next));
      }
      if (stuck && world_.turns && states_[at][r].scheduler.held() > 0) edge(at, waited(states_[at], r));
    }
  }

  std::optional<State> acted(const State& state, std::size_t r) const {
    const auto& program = world_.programs[r];
    if (state[r].next == program.size()) return std::nullopt;
    const Act& act = program[state[r].next];
    if (act.kind == Act::Kind::wait && state[r].done[act.operation] < world_.steps) return std::nullopt;
    State next = state;
    Rank& rank = next[r];
    ++rank.next;
    if (act.kind == Act::Kind::limit) rank.scheduler.set_window({act.operation, 0}, rank.now);
    if (act.kind == Act::Kind::issue) {
      const auto& operation = world_.operations[act.operation];
      rank.ids[act.operation] = rank.scheduler.issue(operation.line, operation.priority, operation.bytes, rank.now, act.lead);
    }
    return next;
  }

  std::optional<State> stepped(const State& state, std::size_t r, std::size_t o) const {
    const Rank& rank = state[r];
    if (rank.ids[o] == 0 || rank.done[o] == world_.steps || !rank.scheduler.live(rank.ids[o])) return std::nullopt;
    for (const int member : world_.operations[o].members)
      if (state[std::size_t(member)].done[o] < rank.done[o]) return std::nullopt;
    State next = state;
    if (++next[r].done[o] == world_.steps) {
      next[r].scheduler.finish(rank.ids[o], rank.now);
    } else {
      next[r].scheduler.moved(rank.ids[o], rank.now);
    }
    return next;
  }

  State waited(const State& state, std::size_t r) const {
    State next = state;
    next[r].now += 2 * Scheduler::kStallMost;
    next[r].scheduler.pass_turn(next[r].now);
    return next;
  }

  bool over(const State& state) const {
    for (std::size_t r = 0; r < state.size(); ++r)
      if (state[r].next < world_.programs[r].size() || !state[r].scheduler.standings().empty()) return false;
    return true;
  }

  std::string text(const State& state) const {
    std::string text;
    for (std::size_t r = 0; r < state.size(); ++r) {
      text += "rank " + std::to_string(r) + " at " + std::to_string(state[r].next) + ", steps";
      for (const int done : state[r].done) text += " " + std::to_string(done);
      text += "; ";
    }
    return text;
  }

  Found judge() const {
    std::vector<bool> good(states_.size());
    std::vector<std::size_t> line;
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (over(states_[i])) good[i] = true, line.push_back(i);
    for (std::size_t i = 0; i < line.size(); ++i)
      for (const std::size_t before : before_[line[i]])
        if (!good[before]) good[before] = true, line.push_back(before);
    Found found{states_.size(), 0, ""};
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (!good[i] && ++found.dead == 1) found.example = text(states_[i]);
    return found;
  }

  const SmallWorld& world_;
  std::vector<State> states_;
  std::vector<std::vector<std::size_t>> before_;  // by state
  std::unordered_map<std::string, std::size_t> known_;
};

}  // namespace

Found search(const SmallWorld& world) { return Search(world).run(); }

}  // namespace railweave::collectives_test
