#include "world.h"

#include <algorithm>

namespace railweave::collectives_test {
namespace {

using collectives::Scheduler;
using Kind = Move::Kind;

void act(const World& world, Rank& rank, const Act& act) {
  ++rank.next;
  if (act.kind == Act::Kind::limit) rank.scheduler.set_window({act.operation, 0}, rank.now);
  if (act.kind == Act::Kind::issue) {
    const auto& operation = world.operations[act.operation];
    rank.ids[act.operation] = rank.scheduler.issue(operation.line, operation.priority, operation.bytes,
                                                   rank.issued_bytes, rank.now, act.lead);
    if (operation.bytes >= Scheduler::kSmallBytes) rank.issued_bytes += operation.bytes;
  }
}

// True: all operations of its queue that were issued before it have begun.
bool may_begin(const World& world, const Rank& rank, std::size_t operation) {
  for (std::size_t o = 0; o < world.operations.size(); ++o)
    if (rank.ids[o] > 0 && rank.ids[o] < rank.ids[operation] && rank.done[o] == 0 &&
        world.operations[o].line == world.operations[operation].line)
      return false;
  return true;
}

// Returns the times of the live operations' last moves, the longest ago first.
std::vector<TimePoint> times_of_live(const Rank& rank) {
  std::vector<TimePoint> times;
  for (const auto& standing : rank.scheduler.standings())
    if (standing.live) times.push_back(standing.moved_at);
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

// Advances the rank's time past all moves, by so little that nothing stalls for it, nor for many more moves.
void tick(Rank& rank) {
  const auto times = times_of_live(rank);
  if (times.empty() || times.back() < rank.now) return;
  Nanos left = Scheduler::kStallMost;
  for (const TimePoint time : times)
    if (!stalled(rank, time)) left = std::min(left, time + Scheduler::kStallMost - rank.now);
  rank.now += std::max(left / 16, Nanos(1));
  rank.too_close |= left == Nanos(1);
}

}  // namespace

State beginning(const World& world) {
  State state(world.programs.size());
  for (Rank& rank : state) {
    rank.scheduler = Scheduler(world.window);
    rank.ids.resize(world.operations.size());
    rank.done.resize(world.operations.size());
  }
  return state;
}

std::vector<Move> moves(const World& world, const Rank& rank, std::size_t number) {
  std::vector<Move> moves;
  if (rank.next < world.programs[number].size()) {
    const Act& act = world.programs[number][rank.next];
    if (act.kind != Act::Kind::wait || rank.done[act.operation] == world.steps) moves.push_back({Kind::act});
  }
  for (std::size_t o = 0; o < world.operations.size(); ++o) {
    if (rank.ids[o] == 0 || rank.done[o] == world.steps) continue;
    const bool begun = rank.done[o] > 0;
    if (rank.scheduler.live(rank.ids[o])) {
      if (begun || may_begin(world, rank, o)) moves.push_back({Kind::step, o});
    } else if (begun && rank.done[o] + 1 == world.steps) {
      moves.push_back({Kind::step_held, o});
    }
    if (begun) moves.push_back({Kind::part, o});
  }
  if (!world.turns || rank.scheduler.held() == 0) return moves;
  // A stall reaches to the last operation that has stalled already, or to a later one.
  const auto times = times_of_live(rank);
  for (std::size_t i = 0; i < times.size(); ++i)
    if (i + 1 == times.size() || !stalled(rank, times[i + 1])) moves.push_back({Kind::stall, i});
  return moves;
}

void make(const World& world, Rank& rank, std::size_t number, const Move& move) {
  if (move.kind != Kind::stall) tick(rank);
  switch (move.kind) {
    case Kind::act: act(world, rank, world.programs[number][rank.next]); break;
    case Kind::step:
    case Kind::step_held:
      if (++rank.done[move.which] == world.steps) {
        rank.scheduler.finish(rank.ids[move.which], rank.now);
        break;
      }
      [[fallthrough]];
    case Kind::part: rank.scheduler.moved(rank.ids[move.which], rank.now); break;
    case Kind::stall:
      rank.now = std::max(rank.now, times_of_live(rank)[move.which] + Scheduler::kStallMost);
      rank.scheduler.pass_turn(rank.now);
      break;
  }
}

bool over(const World& world, const Rank& rank, std::size_t number) {
  if (rank.next < world.programs[number].size()) return false;
  for (std::size_t o = 0; o < world.operations.size(); ++o)
    if (rank.ids[o] > 0 && rank.done[o] < world.steps) return false;
  return true;
}

bool stalled(const Rank& rank, TimePoint moved_at) { return rank.now - moved_at >= Scheduler::kStallMost; }

std::string text(const World& world, const State& state) {
  std::string text;
  for (std::size_t r = 0; r < state.size(); ++r) {
    text += "rank " + std::to_string(r) + " at " + std::to_string(state[r].next) + " of " +
            std::to_string(world.programs[r].size()) + ", steps";
    for (const int done : state[r].done) text += " " + std::to_string(done);
    text += ", live";
    for (const auto& standing : state[r].scheduler.standings())
      if (standing.live)
        text += " " + std::to_string(std::ranges::find(state[r].ids, standing.id) - state[r].ids.begin());
    text += "; ";
  }
  return text;
}

}  // namespace railweave::collectives_test
