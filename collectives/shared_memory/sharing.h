// How the ranks of a group come by a board: all or none of them.
#pragma once

#include <memory>
#include <string>

#include "collectives/shared_memory/line.h"
#include "collectives/group/group.h"
#include "collectives/rendezvous/meeting.h"

namespace railweave::collectives {

// What a rank may do. What some rank may not, none does.
struct BoardLeave {
  bool shares_memory = false;
  bool in_pieces = false;                  // large operations on the board, see BoardLine
  bool reads_others = true;                // their memory, see Neighbours
};

// Every rank calls it, between the same two operations of the group, whose ranks all share a host. `named`: see BoardLine.
// Null: some rank may not, or could not (told at level INFO). Errors: of the group.
Result<std::unique_ptr<BoardLine>> share_board(Group& group, MeetingPlace& place, BoardLeave own, Nanos timeout,
                                               const std::string& named);

}  // namespace railweave::collectives
