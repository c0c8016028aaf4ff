#include "collectives/schedule/algorithms/two_level.h"

#include <algorithm>
#include <utility>

#include "collectives/schedule/algorithms/flow.h"

namespace railweave::collectives {

Shards::Shards(const Problem& problem, const Layout& layout) {
  for (int shard = 0; shard < layout.shards(); ++shard) {
    chunks_.emplace_back(problem, layout[shard]);
    most_ = std::max(most_, chunks_.back().size());
    longest_ = std::max(longest_, chunks_.back().longest());
  }
}

TwoLevelSpread::TwoLevelSpread(Builder& builder, const Hosts& hosts, const Shards& shards,
                               std::function<Piece(Range)> own)
    : builder_(builder), hosts_(hosts), shards_(shards), own_(std::move(own)) {}

void TwoLevelSpread::from_owners(std::size_t k) {
  const int rank = builder_.problem().rank, host = hosts_.of(rank);
  const Form form = own_({}).form;
  for (int owner = 0; owner < shards_.count(); ++owner) {
    const Range chunk = shards_.chunk(owner, k);
    if (chunk.count == 0) continue;
    if (owner != rank) {
      if (hosts_.of(owner) == host || hosts_.delegate(host, owner) == rank)
        builder_.receive(owner, builder_.output(chunk, form));
      continue;
    }
    for (int other = 0; other < hosts_.count(); ++other)
      if (other != host) builder_.send(hosts_.delegate(other, rank), own_(chunk));
    for (const int member : hosts_.members(host))
      if (member != rank) builder_.send(member, own_(chunk));
  }
}

void TwoLevelSpread::from_delegates(std::size_t k) {
  const int rank = builder_.problem().rank, host = hosts_.of(rank);
  const Form form = own_({}).form;
  for (int owner = 0; owner < shards_.count(); ++owner) {
    const Range chunk = shards_.chunk(owner, k);
    if (chunk.count == 0 || hosts_.of(owner) == host) continue;
    const int delegate = hosts_.delegate(host, owner);
    const Piece piece = builder_.output(chunk, form);
    if (delegate != rank) {
      builder_.receive(delegate, piece);
      continue;
    }
    for (const int member : hosts_.members(host))
      if (member != rank) builder_.send(member, piece);
  }
}

TwoLevelReduction::TwoLevelReduction(Builder& builder, const Hosts& hosts, const Shards& shards,
                                     std::function<Piece(Range)> place_of)
    : builder_(builder),
      hosts_(hosts),
      shards_(shards),
      place_of_(std::move(place_of)),
      rank_(builder.problem().rank),
      host_(hosts.of(rank_)),
      collected_(std::size_t(shards.count())) {
  const Problem& problem = builder.problem();
  const auto slots = [&](bool used, std::size_t element_bytes) {
    return Slots(builder, used ? shards.most() : 0, kSlots, shards.longest() * element_bytes);
  };
  for (int shard = 0; shard < shards.count(); ++shard) {
    if (hosts.delegate(host_, shard) != rank_) continue;
    Collected& here = collected_[std::size_t(shard)];
    for (const int member : hosts.members(host_)) here.inputs.push_back(slots(member != rank_, problem.element_bytes));
    if (shard != rank_ && !alone(host_)) here.sums.push_back(slots(true, problem.partial_bytes));
  }
  for (int host = 0; host < hosts.count(); ++host)
    arrivals_.push_back(slots(host != host_, alone(host) ? problem.element_bytes : problem.partial_bytes));
}

void TwoLevelReduction::add_inputs(int shard, std::size_t k, std::vector<Piece>& operands) const {
  const Range chunk = shards_.chunk(shard, k);
  const std::vector<int>& members = hosts_.members(host_);
  for (std::size_t i = 0; i < members.size(); ++i)
    operands.push_back(members[i] == rank_ ? builder_.input(chunk)
                                           : collected_[std::size_t(shard)].inputs[i].piece(k, Form::raw, chunk.count));
}

void TwoLevelReduction::within_hosts(std::size_t k) {
  const std::vector<int>& members = hosts_.members(host_);
  for (int shard = 0; shard < shards_.count(); ++shard) {
    const Range chunk = shards_.chunk(shard, k);
    if (chunk.count == 0) continue;
    const int delegate = hosts_.delegate(host_, shard);
    if (delegate != rank_) {
      builder_.send(delegate, builder_.input(chunk));
      continue;
    }
    const Collected& here = collected_[std::size_t(shard)];
    for (std::size_t i = 0; i < members.size(); ++i)
      if (members[i] != rank_) builder_.receive(members[i], here.inputs[i].piece(k, Form::raw, chunk.count));
    if (here.sums.empty()) continue;
    std::vector<Piece> operands;
    add_inputs(shard, k, operands);
    builder_.reduce(operands, here.sums[0].piece(k, Form::partial, chunk.count));
  }
}

void TwoLevelReduction::between_hosts(std::size_t k) {
  for (int shard = 0; shard < shards_.count(); ++shard) {
    const Range chunk = shards_.chunk(shard, k);
    if (chunk.count == 0 || hosts_.delegate(host_, shard) != rank_) continue;
    if (shard == rank_)
      finish(k);
    else
      builder_.send(shard, alone(host_) ? builder_.input(chunk)
                                        : collected_[std::size_t(shard)].sums[0].piece(k, Form::partial, chunk.count));
  }
}

void TwoLevelReduction::finish(std::size_t k) {
  const Range chunk = shards_.chunk(rank_, k);
  std::vector<Piece> operands;
  for (int host = 0; host < hosts_.count(); ++host) {
    if (host == host_) {
      add_inputs(rank_, k, operands);
      continue;
    }
    operands.push_back(arrivals_[std::size_t(host)].piece(k, alone(host) ? Form::raw : Form::partial, chunk.count));
    builder_.receive(hosts_.delegate(host, rank_), operands.back());
  }
  builder_.reduce(operands, place_of_(chunk));
}

}  // namespace railweave::collectives
