#include "collectives/board/sharing.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace railweave::collectives {
namespace {

constexpr int kRanksMax = 64;            // one column of half a MiB each, of which what is written is there

Result<bool> all_agree(Group& group, bool own, Nanos timeout) {
  std::uint8_t agreed = own;
  RW_TRY(group.all_reduce(&agreed, &agreed, 1, DataType::uint8, Reduction::min)->wait(timeout));
  return agreed != 0;
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
  if (ranks < 2 || ranks > kRanksMax) return std::unique_ptr<BoardLine>();
  RW_ASSIGN_OR_RETURN(const bool may, all_agree(group, shares_memory, timeout));
  if (!may) return std::unique_ptr<BoardLine>();
  const std::size_t bytes = Board::memory_bytes(ranks);
  auto memory = group.rank() == 0 ? make_and_give(place, ranks - 1, bytes, timeout) : take(place, bytes, timeout);
  if (!memory.ok()) RW_INFO(net, "rank {} has no board: {}", group.rank(), memory.status().message());
  RW_ASSIGN_OR_RETURN(const bool all_have, all_agree(group, memory.ok(), timeout));
  if (!all_have) return std::unique_ptr<BoardLine>();
  return std::make_unique<BoardLine>(Board(std::move(*memory), group.rank(), ranks), named);
}

}  // namespace railweave::collectives
