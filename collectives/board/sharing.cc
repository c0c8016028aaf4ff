#include "collectives/board/sharing.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace railweave::collectives {
namespace {

constexpr Nanos kHandOverMost = std::chrono::seconds(5);  // a rank that does not come for it: then there is no board

// Whether all say yes, and say it as the same user: others are not given the memory.
Result<bool> all_agree(Group& group, bool own, Nanos timeout) {
  using Said = std::array<std::uint32_t, 3>;
  const auto said = std::make_shared<Said>(Said{own, ::geteuid(), ~::geteuid()});
  const WorkPtr work = group.all_reduce(said->data(), said->data(), said->size(), DataType::uint32, Reduction::min);
  work->when_over([said](const Status&) {});  // it lives as long, also when we do not wait so long
  RW_TRY(work->wait(timeout));
  const auto [all, least, most] = *said;
  return all != 0 && least == ~most;
}

Result<BoardMemory> make_and_give(MeetingPlace& place, int takers, std::size_t bytes, Nanos timeout) {
  auto offer = BoardOffer::make(bytes);
  RW_TRY(place.agree("board", offer.ok() ? offer->name() : ""));
  RW_TRY(offer);
  RW_TRY(offer->give(takers, timeout));
  return BoardMemory::map(offer->fd(), bytes);
}

Result<BoardMemory> take(MeetingPlace& place, std::size_t bytes, Nanos timeout) {
  RW_ASSIGN_OR_RETURN(const std::string name, place.agree("board", ""));
  return take_board_memory(name, bytes, timeout);
}

}  // namespace

Result<std::unique_ptr<BoardLine>> share_board(Group& group, MeetingPlace& place, bool shares_memory, Nanos timeout,
                                               const std::string& named) {
  const int ranks = group.size();
  if (ranks < 2 || ranks > kBoardRanksMax) return std::unique_ptr<BoardLine>();
  RW_ASSIGN_OR_RETURN(const bool may, all_agree(group, shares_memory, timeout));
  if (!may) return std::unique_ptr<BoardLine>();
  const std::size_t bytes = Board::memory_bytes(ranks);
  const Nanos patience = std::min(timeout / 4, kHandOverMost);
  auto memory = group.rank() == 0 ? make_and_give(place, ranks - 1, bytes, patience) : take(place, bytes, patience);
  if (!memory.ok()) RW_INFO(net, "rank {} has no board: {}", group.rank(), memory.status().message());
  RW_ASSIGN_OR_RETURN(const bool all_have, all_agree(group, memory.ok(), timeout));
  if (!all_have) return std::unique_ptr<BoardLine>();
  return std::make_unique<BoardLine>(Board(std::move(*memory), group.rank(), ranks), named);
}

}  // namespace railweave::collectives
