#include "collectives/shared_memory/sharing.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "collectives/shared_memory/neighbours.h"
#include "collectives/shared_memory/pieces.h"

namespace railweave::collectives {
namespace {

constexpr Nanos kHandOverMost = std::chrono::seconds(5);  // to hand out the descriptor; later there is no exchange

// Runs an operation whose memory lives until the operation ends, even if the wait times out earlier.
template <class Memory, class Start>
Status done(const std::shared_ptr<Memory>& memory, Nanos timeout, const Start& start) {
  const WorkPtr work = start(*memory);
  work->when_over([memory](const Status&) {});
  return work->wait(timeout);
}

// Returns what all ranks allow. Ranks of different users share no memory: another user's process does not get it.
Result<ShmPermit> agree(Group& group, ShmPermit own, Nanos timeout) {
  using Said = std::array<std::uint32_t, 5>;
  const auto said =
      std::make_shared<Said>(Said{own.shares_memory, own.in_pieces, own.reads_others, ::geteuid(), ~::geteuid()});
  RW_TRY(done(said, timeout, [&](Said& s) {
    return group.all_reduce(s.data(), s.data(), s.size(), DataType::uint32, Reduction::min);
  }));
  const auto [shares_memory, in_pieces, reads_others, least, most] = *said;
  return ShmPermit{shares_memory != 0 && least == ~most, in_pieces != 0, reads_others != 0};
}

// Data of ours that the other ranks try to read; it stays until all ranks have agreed again.
struct Proof {
  std::array<std::uint8_t, NeighbourProof::kSecretBytes> secret = random_id();
  std::vector<NeighbourProof> of_all;
};

Result<std::optional<Neighbours>> read_neighbours(Group& group, const std::shared_ptr<Proof>& proof, Nanos timeout) {
  proof->of_all.resize(std::size_t(group.size()));
  NeighbourProof& own = proof->of_all[std::size_t(group.rank())];
  own = {::getpid(), reinterpret_cast<std::uint64_t>(proof->secret.data()), proof->secret};
  RW_TRY(done(proof, timeout,
              [&](Proof& p) { return group.all_gather(&own, p.of_all.data(), sizeof own, DataType::uint8); }));
  auto neighbours = Neighbours::prove(proof->of_all, group.rank());
  if (neighbours.ok()) return std::optional(std::move(*neighbours));
  RW_INFO(net, "rank {} cannot read the other ranks' memory; all ranks copy: {}", group.rank(),
          neighbours.status().message());
  return std::optional<Neighbours>();
}

Result<ShmMemory> make_and_give(Rendezvous& place, int takers, std::size_t bytes, Nanos timeout) {
  auto offer = ShmOffer::make(bytes);
  RW_TRY(place.agree("shm_exchange", offer.ok() ? offer->name() : ""));
  RW_TRY(offer);
  RW_TRY(offer->give(takers, timeout));
  return ShmMemory::map(offer->fd(), bytes);
}

Result<ShmMemory> take(Rendezvous& place, std::size_t bytes, Nanos timeout) {
  RW_ASSIGN_OR_RETURN(const std::string name, place.agree("shm_exchange", ""));
  return take_shm_memory(name, bytes, timeout);
}

}  // namespace

Result<std::unique_ptr<ShmQueue>> share_shm_exchange(Group& group, Rendezvous& place, ShmPermit own, Nanos timeout,
                                                     const std::string& named) {
  const int ranks = group.size();
  if (ranks < 2 || ranks > kShmRanksMax) return std::unique_ptr<ShmQueue>();
  RW_ASSIGN_OR_RETURN(const ShmPermit all, agree(group, own, timeout));
  if (!all.shares_memory) return std::unique_ptr<ShmQueue>();
  const std::size_t bytes = ShmExchange::memory_bytes(ranks);
  const Nanos patience = std::min(timeout / 4, kHandOverMost);
  auto memory = group.rank() == 0 ? make_and_give(place, ranks - 1, bytes, patience) : take(place, bytes, patience);
  if (!memory.ok()) RW_INFO(net, "rank {} has no shm exchange: {}", group.rank(), memory.status().message());
  const auto proof = std::make_shared<Proof>();
  std::optional<Neighbours> neighbours;
  if (all.in_pieces && ranks <= kPiecesRanksMax) {
    RW_ASSIGN_OR_RETURN(neighbours, read_neighbours(group, proof, timeout));
  }
  RW_ASSIGN_OR_RETURN(const ShmPermit have,
                      agree(group, {memory.ok(), all.in_pieces, neighbours.has_value()}, timeout));
  if (!have.shares_memory) return std::unique_ptr<ShmQueue>();
  if (!have.reads_others) neighbours.reset();
  return std::make_unique<ShmQueue>(ShmExchange(std::move(*memory), group.rank(), ranks), named, all.in_pieces,
                                    std::move(neighbours));
}

}  // namespace railweave::collectives
