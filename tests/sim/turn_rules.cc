#include "tests/sim/turn_rules.h"

#include <algorithm>

namespace railweave::sim {
namespace {

constexpr int kOvertakenMax = 16;
// one byte left of a turn is enough for another whole segment
constexpr std::uint64_t kTurnBytesMax = 2 * (protocol::kSegmentBytesMax + protocol::kFrameHeaderBytes);

int rank_of(const protocol::SendStream& s) { return s.expedited() ? 0 : 1 + int(s.priority()); }

}  // namespace

void TurnRules::before(const std::vector<const protocol::SendStream*>& streams) {
  seen_.clear();
  asked_.clear();
  for (const protocol::SendStream* s : streams) asked_.push_back(s->id());
  for (const protocol::SendStream* s : streams)
    if (s->has_segment())
      seen_.push_back({s, rank_of(*s), s->order(), s->may_use(~0ull, 1) && s->may_use(1ull << 63, 1ull << 63)});
}

void TurnRules::after(const protocol::FrameHeader& frame) {
  if (frame.type != protocol::FrameType::segment) return;
  const auto taken = std::ranges::find_if(seen_, [&](const Seen& s) { return s.stream->id() == frame.stream; });
  if (std::ranges::find(asked_, frame.stream) == asked_.end()) return count_closed();
  if (taken == seen_.end())
    return wrong_("a segment of stream " + std::to_string(frame.stream) + " goes, which had none");
  for (const Seen& other : seen_) {
    if (!other.anywhere || &other == &*taken) continue;
    if (other.rank < taken->rank && overtaken_most_[std::size_t(taken->rank)] < kOvertakenMax)
      wrong_("a segment of stream " + std::to_string(taken->stream->id()) + " goes before the more urgent one of " +
             std::to_string(other.stream->id()));
    if (other.rank == taken->rank && other.order < taken->order)
      wrong_("a segment of stream " + std::to_string(taken->stream->id()) + " goes before the older one of " +
             std::to_string(other.stream->id()));
  }
  for (int r = taken->rank + 1; r < kRanks; ++r) {
    const auto waits = [&](bool surely) {
      return std::ranges::any_of(seen_, [&](const Seen& s) { return s.rank == r && (s.anywhere || !surely); });
    };
    if (waits(false)) ++overtaken_most_[std::size_t(r)];
    if (waits(true)) ++overtaken_least_[std::size_t(r)];
    if (overtaken_least_[std::size_t(r)] > kOvertakenMax + kRanks)
      wrong_("streams of rank " + std::to_string(r) + " starve");
  }
  count_turns(*taken, frame.length);
  overtaken_least_[std::size_t(taken->rank)] = overtaken_most_[std::size_t(taken->rank)] = 0;
}

// Counts a segment of a closed stream: the rest of its last message, or what a lost lane carried. The rank of the
// stream is not known, so the segment may have overtaken every rank.
void TurnRules::count_closed() {
  for (int r = 0; r < kRanks; ++r)
    if (std::ranges::any_of(seen_, [&](const Seen& s) { return s.rank == r; })) ++overtaken_most_[std::size_t(r)];
}

// Checks that streams of equal rank and order take turns: none goes ahead of another for longer than its turn.
void TurnRules::count_turns(const Seen& taken, std::uint64_t bytes) {
  std::erase_if(waits_, [&](const auto& wait) {
    return std::ranges::none_of(seen_, [&](const Seen& s) { return s.stream->id() == wait.first; });
  });
  waits_.erase(taken.stream->id());
  for (const Seen& s : seen_) {
    if (!s.anywhere || s.stream->id() == taken.stream->id()) continue;
    Wait& wait = waits_[s.stream->id()];
    if (wait.rank != s.rank || wait.order != s.order) wait = {s.rank, s.order, {}};
    if (s.rank != taken.rank || s.order != taken.order) continue;
    if ((wait.bytes_ahead[taken.stream->id()] += bytes) > kTurnBytesMax)
      wrong_("stream " + std::to_string(taken.stream->id()) + " goes on before its equal " +
             std::to_string(s.stream->id()) + ", though its turn is over");
  }
}

}  // namespace railweave::sim
