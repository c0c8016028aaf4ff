// Credit windows (docs/internals/credit_windows.md): this end's statements about lanes by which it receives, and the
// peer's statements about lanes by which this end sends.
#include <algorithm>

#include "protocol/session_protocol.h"

namespace railweave::protocol {

void SessionProtocol::announce_window(LaneId id, const Credit& credit) {
  Lane* lane = find(id);
  if (lane == nullptr || lane->state != Lane::State::live) return;
  lane->announced_window = credit;
  ++lane->window_edition;
  lane->window_pending = session_control_ = true;
}

SessionProtocol::Arrivals SessionProtocol::arrivals(LaneId id) const {
  const Lane* lane = find(id);
  return lane ? lane->arrivals : Arrivals();
}

Credit SessionProtocol::send_credit(LaneId id) const {
  const Lane* lane = find(id);
  return lane ? lane->window.standing() : Credit();
}

Nanos SessionProtocol::without_credit(LaneId id) const {
  const Lane* lane = find(id);
  return lane ? lane->window.without_credit() : Nanos{0};
}

bool SessionProtocol::next_window(FrameHeader& header) {
  const auto lane = std::ranges::find(lanes_, true, &Lane::window_pending);
  if (lane == lanes_.end()) return false;
  (*lane)->window_pending = false;
  header = WindowFrame{.lane = (*lane)->id, .edition = (*lane)->window_edition, .credit = (*lane)->announced_window};
  return true;
}

// An older statement is not repeated: a newer one was sent, or will be.
void SessionProtocol::repeat_window(const FrameHeader& lost) {
  const auto said = WindowFrame::of(lost);
  Lane* lane = find(said.lane);
  if (lane == nullptr || lane->state != Lane::State::live || lane->window_edition != said.edition) return;
  lane->window_pending = session_control_ = true;
}

// A WINDOW of a lane that is not known has no effect.
void SessionProtocol::on_window(const FrameHeader& h) {
  const auto said = WindowFrame::of(h);
  Lane* lane = find(said.lane);
  if (lane == nullptr) return;
  lane->window.apply(said.edition, said.credit);
  lane->view.window_bytes = lane->window.standing().window_bytes;
}

void SessionProtocol::note_arrival(Lane& lane, const FrameHeader& consumed) {
  lane.arrivals.position += kFrameHeaderBytes + consumed.length;
  if (consumed.type != FrameType::segment) return;
  ++lane.arrivals.segments;
  lane.arrivals.waiting_kib = SegmentFrame::of(consumed).waiting_kib;
}

}  // namespace railweave::protocol
