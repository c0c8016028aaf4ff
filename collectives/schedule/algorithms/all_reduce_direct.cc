// Each rank owns a shard: it receives every rank's input of the shard, reduces once, and sends the result to all ranks.
// Results follow inputs closely, chunk by chunk. In each direction a rank moves twice the bytes that it does not own:
// no algorithm moves fewer.
#include <algorithm>

#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/owner.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/load.h"

namespace railweave::collectives {
namespace {

class AllReduceDirect {
 public:
  explicit AllReduceDirect(const Problem& problem)
      : problem_(problem),
        layout_(Layout::even(problem, problem.counts[0], problem.ranks)),
        mine_(problem, layout_[problem.rank]),
        builder_(problem),
        owner_(builder_, mine_.size(), mine_.longest()),
        most_(mine_.size()) {
    for (int distance = 1; distance < problem.ranks; ++distance) {
      theirs_.emplace_back(problem, layout_[around(problem, problem.rank, distance)]);
      most_ = std::max(most_, theirs_.back().size());
    }
  }

  Schedule build() {
    const std::size_t lag = Topology(problem_).hosts > 1 ? kLagOfRoundTrip : kLag;
    for (std::size_t k = 0; k < most_ + lag; ++k) {
      inputs(k);
      if (k >= lag) results(k - lag);
    }
    return builder_.take();
  }

 private:
  void inputs(std::size_t k) {
    if (k < mine_.size()) owner_.receive(k, mine_[k].count);
    for (int distance = 1; distance < problem_.ranks; ++distance) {
      const Chunks& chunks = theirs_[std::size_t(distance - 1)];
      if (k < chunks.size()) builder_.send(around(problem_, problem_.rank, distance), builder_.input(chunks[k]));
    }
    if (k < mine_.size()) owner_.reduce(k, builder_.input(mine_[k]), builder_.output(mine_[k], Form::result));
  }

  void results(std::size_t k) {
    for (int distance = 1; distance < problem_.ranks; ++distance) {
      const int peer = around(problem_, problem_.rank, distance);
      const Chunks& chunks = theirs_[std::size_t(distance - 1)];
      if (k < mine_.size()) builder_.send(peer, builder_.output(mine_[k], Form::result));
      if (k < chunks.size()) builder_.receive(peer, builder_.output(chunks[k], Form::result));
    }
  }

  const Problem& problem_;
  const Layout layout_;
  const Chunks mine_;
  std::vector<Chunks> theirs_;  // by distance - 1
  Builder builder_;
  Owner owner_;
  std::size_t most_;  // chunks of the longest shard
};

Schedule build(const Problem& problem) { return AllReduceDirect(problem).build(); }

Load load(const Problem& problem) {
  const double shard = total_bytes(problem) / problem.ranks;
  const double sends = 2 * (problem.ranks - 1);
  Load load = all_pairs_load(problem, {shard * sends, 2, sends, shard});
  load.reduced_bytes = total_bytes(problem);
  return load;
}

}  // namespace

Algorithm all_reduce_direct() { return {"direct", Operation::all_reduce, several, build, load}; }

}  // namespace railweave::collectives
