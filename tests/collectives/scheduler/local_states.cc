#include "local_states.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

namespace railweave::collectives_test {
namespace {

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "the search cannot: %s\n", what);
  std::abort();
}

void append(std::string& key, std::uint64_t value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); }

// Returns the part of a rank's state that decides how the rank goes on. The rest follows from the rank's place in its
// program (window, issued bytes), or counts only in its order: turns, and times of the last moves.
std::string key_of(const Rank& rank) {
  std::string key;
  append(key, rank.next);
  for (const int done : rank.done) append(key, std::uint64_t(done));
  const auto standings = rank.scheduler.standings();
  for (const auto& standing : standings) {
    append(key, standing.id);
    append(key, standing.key);
    append(key, standing.queue_key);
    append(key, std::uint64_t(standing.live) + 2 * std::uint64_t(standing.waits_for_turn));
    if (!standing.live) continue;
    const auto longer_ago = [&](const auto& other) { return other.live && other.moved_at < standing.moved_at; };
    append(key, std::uint64_t(std::ranges::count_if(standings, longer_ago)));
    append(key, stalled(rank, standing.moved_at));
  }
  return key;
}

}  // namespace

LocalStates::LocalStates(const World& world, std::size_t number, Rank first) : world_(world), number_(number) {
  add(std::move(first));
}

LocalStates::Number LocalStates::add(Rank rank) {
  demand(!rank.too_close, "moves too close in time");
  demand(locals_.size() < std::numeric_limits<Number>::max(), "too many states of a rank");
  const auto [found, is_new] = known_.try_emplace(key_of(rank), Number(locals_.size()));
  if (is_new) {
    const std::size_t progress = rank.next + std::size_t(std::reduce(rank.done.begin(), rank.done.end()));
    const bool ended = over(world_, rank, number_);
    locals_.push_back({std::move(rank), progress, ended, false, {}});
  }
  return found->second;
}

const LocalStates::Local& LocalStates::explored(Number state) {
  Local& local = locals_[state];
  if (std::exchange(local.explored, true)) return local;
  for (const Move& move : moves(world_, local.rank, number_)) {
    Rank next = local.rank;
    make(world_, next, number_, move);
    const Number target = add(std::move(next));
    if (target != state) local.edges.push_back({move, target});
  }
  return local;
}

}  // namespace railweave::collectives_test
