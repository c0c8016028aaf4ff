#include "tests/sim/control_rules.h"

#include <algorithm>

namespace railweave::sim {

using protocol::FrameType;

std::pair<protocol::StreamId, bool> ControlRules::stream_of(const protocol::FrameHeader& frame) {
  return {frame.stream, (frame.flags & protocol::kFlagFromReceiver) != 0};
}

void ControlRules::stated(const protocol::FrameHeader& frame, TimePoint now) {
  switch (frame.type) {
    case FrameType::open:
    case FrameType::opened:
    case FrameType::grant:
    case FrameType::ack: return waiting_.push_back({now, frame});
    case FrameType::close:
    case FrameType::abort: reported_[stream_of(frame)].over = true;
    default: return;
  }
}

void ControlRules::heard(const protocol::FrameHeader& frame) {
  Told& told = reported_[stream_of(frame)];
  switch (frame.type) {
    case FrameType::open:
    case FrameType::opened: told.opened = true; return;
    case FrameType::grant: told.granted.insert(frame.message); [[fallthrough]];
    case FrameType::ack:
      told.acked = std::max(told.acked, protocol::ack_in(frame));
      told.granted.erase(told.granted.begin(), told.granted.lower_bound(told.acked));
      return;
    default: return;
  }
}

bool ControlRules::is_heard(const protocol::FrameHeader& frame) {
  const Told& told = reported_[stream_of(frame)];
  switch (frame.type) {
    case FrameType::open:
    case FrameType::opened: return told.opened || told.over;
    case FrameType::grant: return told.acked > frame.message || told.granted.contains(frame.message) || told.over;
    default: return told.acked >= protocol::ack_in(frame) || told.over;
  }
}

std::string ControlRules::overdue(TimePoint now, Nanos most) {
  while (!waiting_.empty() && is_heard(waiting_.front().frame)) waiting_.pop_front();
  if (waiting_.empty() || now - waiting_.front().since <= most) return {};
  const protocol::FrameHeader& frame = waiting_.front().frame;
  return std::string(protocol::name_of(frame.type)) + " of stream " + std::to_string(frame.stream) + ", message " +
         std::to_string(frame.message) + ", waits for a lane since " +
         std::to_string((now - waiting_.front().since).count() / 1'000'000) + " ms";
}

}  // namespace railweave::sim
