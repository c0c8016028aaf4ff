// In each round a rank halves the range that it sums. It sends the partner's half to the partner, and receives the
// partner's sums for its own half: few latencies.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

class RecursiveHalving {
 public:
  explicit RecursiveHalving(const Problem& problem)
      : problem_(problem),
        layout_(Layout::of_counts(problem.counts)),
        builder_(problem),
        half_(ranks_half(problem.ranks / 2)),
        sums_(builder_.scratch(half_.count * problem.partial_bytes)) {}

  Schedule build() {
    for (int distance = problem_.ranks / 2; distance > 0; distance /= 2) exchange(distance);
    return builder_.take();
  }

 private:
  // Elements of the ranks whose numbers equal this rank's but for the lower bits.
  Range ranks_half(int distance) const {
    const int first = problem_.rank & ~(distance - 1);
    return layout_.between(first, first + distance);
  }

  // The first round uses the raw input, later rounds this rank's sums.
  Piece have(Range range, bool first) const {
    if (first) return builder_.input(range);
    return {Place::scratch, Form::partial, sums_ + (range.first - half_.first) * problem_.partial_bytes, range.count};
  }

  void exchange(int distance) {
    const bool first = distance == problem_.ranks / 2, last = distance == 1;
    const int peer = problem_.rank ^ distance;
    const int theirs = peer & ~(distance - 1);
    const Range kept = ranks_half(distance);
    const Form form = first ? Form::raw : Form::partial;
    const std::size_t each = first ? problem_.element_bytes : problem_.partial_bytes;
    const std::size_t incoming = builder_.scratch(kept.count * each);
    const Chunks given(problem_, layout_.between(theirs, theirs + distance)), got(problem_, kept);
    for (std::size_t k = 0; k < given.size(); ++k) builder_.send(peer, have(given[k], first));
    for (std::size_t k = 0; k < got.size(); ++k) {
      const Range chunk = got[k];
      const Piece received{Place::scratch, form, incoming + (chunk.first - kept.first) * each, chunk.count};
      builder_.receive(peer, received);
      // Operands are in the order of the ranks whose inputs they hold.
      const bool peer_first = peer < problem_.rank;
      const Piece mine = have(chunk, first);
      const Piece operands[] = {peer_first ? received : mine, peer_first ? mine : received};
      const Range own{chunk.first - layout_[problem_.rank].first, chunk.count};
      builder_.reduce(operands, last ? builder_.output(own, Form::result) : have(chunk, false));
    }
  }

  const Problem& problem_;
  const Layout layout_;
  Builder builder_;
  const Range half_;        // all elements that this rank ever sums
  const std::size_t sums_;  // offset of their scratch memory
};

Schedule build(const Problem& problem) { return RecursiveHalving(problem).build(); }

Load load(const Problem& problem) {
  const double total = total_bytes(problem), first = total / 2, later = total / 2 - total / problem.ranks;
  const double moved = first + later * widening(problem);
  const double rounds = rounds_of_doubling(problem);
  Load load = all_pairs_load(problem, {moved, rounds, rounds, first});
  load.reduced_bytes = 2 * moved;
  return load;
}

}  // namespace

Algorithm reduce_scatter_recursive_halving() {
  return {"recursive_halving", Operation::reduce_scatter, power_of_two, build, load};
}

}  // namespace railweave::collectives
