// Lanes that end in good order (docs/internals/protocol.md, "Lanes and fences"). Both ends stop using the lane. Once
// all frames on it are consumed, the lane is given up, and nothing is retransmitted.
//
//   dialler                           acceptor
//      RETIRE, by another lane  ─────►
//      KEEP, by this lane       ◄────►  until all frames of both ends on it are consumed
//                               ◄─────  FENCE, by another lane, and the end of this lane
//      FENCE                    ─────►
#include <algorithm>
#include <utility>

#include "protocol/session_protocol.h"

namespace railweave::protocol {

bool SessionProtocol::retire(LaneId id, bool retires) {
  Lane* lane = find(id);
  if (lane == nullptr || lane->state != Lane::State::live || lane->retires == retires) return false;
  lane->retires = retires;
  lane->retire_answered = false;
  ++lane->retire_edition;
  lane->retire_pending = session_control_ = true;
  if (retires) send_any_frame(id);
  return true;
}

bool SessionProtocol::is_retiring(LaneId id) const {
  const Lane* lane = find(id);
  return lane != nullptr && lane->state == Lane::State::live && !serves(*lane);
}

bool SessionProtocol::serves(const Lane& lane) const {
  if (lane.state != Lane::State::live || !lane.retires) return lane.state == Lane::State::live;
  return std::ranges::none_of(lanes_,
                              [](const auto& other) { return other->state == Lane::State::live && !other->retires; });
}

bool SessionProtocol::next_retire(FrameHeader& header) {
  const auto lane = std::ranges::find(lanes_, true, &Lane::retire_pending);
  if (lane == lanes_.end()) return false;
  (*lane)->retire_pending = false;
  header = RetireFrame{.lane = (*lane)->id,
                       .edition = (*lane)->retire_edition,
                       .frames = (*lane)->ledger.taken(),
                       .retires = (*lane)->retires};
  return true;
}

void SessionProtocol::repeat_retire(const FrameHeader& lost) {
  const auto said = RetireFrame::of(lost);
  Lane* lane = find(said.lane);
  if (lane == nullptr || lane->state != Lane::State::live || lane->retire_edition != said.edition) return;
  lane->retire_pending = session_control_ = true;
}

// A RETIRE of a lane that is not known, or is lost, has no effect.
void SessionProtocol::on_retire(const FrameHeader& h) {
  const auto said = RetireFrame::of(h);
  Lane* lane = find(said.lane);
  if (lane == nullptr || lane->state != Lane::State::live || said.edition <= lane->retire_edition) return;
  lane->retires = lane->retire_answered = said.retires;
  lane->retired_announced = false;
  lane->retire_edition = said.edition;
  lane->retire_frames = said.frames;
  if (lane->retires) send_any_frame(lane->id);
  note_retired(*lane);
}

// Announces lane_retired once all frames are consumed. KEEPs do not count: a lost KEEP is not retransmitted.
void SessionProtocol::note_retired(Lane& lane) {
  if (!lane.retire_answered || lane.retired_announced || lane.ledger.consumed() < lane.retire_frames || serves(lane))
    return;
  bool all_consumed = true;
  lane.ledger.for_each([&](const FrameHeader& h) { all_consumed = all_consumed && h.type == FrameType::keep; });
  if (!all_consumed) return;
  lane.retired_announced = true;
  events_.push_back({Event::Kind::lane_retired, 0, lane.id, 0, {}});
}

}  // namespace railweave::protocol
