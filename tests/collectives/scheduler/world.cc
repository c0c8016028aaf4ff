#include "world.h"

#include <algorithm>
#include <map>

namespace railweave::collectives_test {

using collectives::Scheduler;

State beginning(const World& world) {
  State state(world.programs.size());
  for (Rank& rank : state) {
    rank.scheduler = Scheduler(world.window);
    rank.ids.resize(world.operations.size());
    rank.done.resize(world.operations.size());
  }
  return state;
}

bool may_act(const World& world, const State& state, std::size_t r) {
  const Rank& rank = state[r];
  if (rank.next == world.programs[r].size()) return false;
  const Act& act = world.programs[r][rank.next];
  return act.kind != Act::Kind::wait || rank.done[act.operation] == world.steps;
}

void act(const World& world, State& state, std::size_t r) {
  Rank& rank = state[r];
  const Act& act = world.programs[r][rank.next++];
  if (act.kind == Act::Kind::limit) rank.scheduler.set_window({act.operation, 0}, rank.now);
  if (act.kind == Act::Kind::issue) {
    const auto& operation = world.operations[act.operation];
    rank.ids[act.operation] =
        rank.scheduler.issue(operation.line, operation.priority, operation.bytes, rank.issued_bytes, rank.now, act.lead);
    if (operation.bytes >= Scheduler::kSmallBytes) rank.issued_bytes += operation.bytes;
  }
}

bool may_step(const World& world, const State& state, std::size_t r, std::size_t o) {
  const Rank& rank = state[r];
  if (rank.ids[o] == 0 || rank.done[o] == world.steps || !rank.scheduler.live(rank.ids[o])) return false;
  for (const int member : world.operations[o].members)
    if (state[std::size_t(member)].done[o] < rank.done[o]) return false;
  return true;
}

void step(const World& world, State& state, std::size_t r, std::size_t o) {
  Rank& rank = state[r];
  if (++rank.done[o] == world.steps) {
    rank.scheduler.finish(rank.ids[o], rank.now);
  } else {
    rank.scheduler.moved(rank.ids[o], rank.now);
  }
}

bool may_pass_turn(const World& world, const State& state, std::size_t r) {
  const Rank& rank = state[r];
  if (!world.turns || rank.scheduler.held() == 0) return false;
  std::map<Scheduler::Line, bool> moves;   // of lines with something live
  for (std::size_t o = 0; o < world.operations.size(); ++o) {
    if (rank.ids[o] == 0 || rank.done[o] == world.steps || !rank.scheduler.live(rank.ids[o])) continue;
    bool& line_moves = moves[world.operations[o].line];
    line_moves = line_moves || may_step(world, state, r, o);
  }
  return std::ranges::any_of(moves, [](const auto& line) { return !line.second; });
}

void pass_turn(State& state, std::size_t r) {
  Rank& rank = state[r];
  rank.now += 2 * Scheduler::kStallMost;
  rank.scheduler.pass_turn(rank.now);
}

bool over(const World& world, const State& state) {
  for (std::size_t r = 0; r < state.size(); ++r)
    if (state[r].next < world.programs[r].size() || !state[r].scheduler.standings().empty()) return false;
  return true;
}

std::string text(const World& world, const State& state) {
  std::string text;
  for (std::size_t r = 0; r < state.size(); ++r) {
    text += "rank " + std::to_string(r) + " at " + std::to_string(state[r].next) + " of " + std::to_string(world.programs[r].size()) + ", steps";
    for (const int done : state[r].done) text += " " + std::to_string(done);
    text += "; ";
  }
  return text;
}

}  // namespace railweave::collectives_test
