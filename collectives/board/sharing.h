// How the ranks of a group come by a board: all or none of them.
#pragma once

#include <memory>
#include <string>

#include "collectives/board/line.h"
#include "collectives/group.h"
#include "collectives/meeting.h"

namespace railweave::collectives {

// Every rank calls it, between the same two operations of the group, whose ranks all share a host. `shares_memory`: this rank
// may. `named`: see BoardLine. Null: some rank may not, or could not (told at level INFO). Errors: of the group.
Result<std::unique_ptr<BoardLine>> share_board(Group& group, MeetingPlace& place, bool shares_memory, Nanos timeout,
                                               const std::string& named);

}  // namespace railweave::collectives
