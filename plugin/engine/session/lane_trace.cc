#include "engine/session/lane_trace.h"

#include <algorithm>
#include <new>

namespace railweave::engine {

void LaneTrace::set_rail(std::string_view name) {
  rail_ = trace::number_of(name);
  has_rail_ = true;
}

void LaneTrace::note(std::span<const protocol::OutgoingFrame> frames) {
  const std::int64_t t = trace::nanos_of(clock_->now());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const protocol::FrameHeader& h = frames[i].header;
    if (h.type != protocol::FrameType::segment || h.length == 0) continue;
    try {
      unwritten_.push_back({taken_ + i, t, h.tag, h.length, h.sequence});
    } catch (const std::bad_alloc&) {  // only the record is lost; the frame is sent
      trace::lost(1);
    }
  }
}

void LaneTrace::note(protocol::ConstHeaderBytes header) {
  arriving_ = {};
  if (header[0] != std::byte(protocol::FrameType::segment)) return;  // decoding is most of the cost of a record
  auto h = protocol::decode(header);
  if (h.ok() && h->type == protocol::FrameType::segment)
    arriving_ = {0, trace::nanos_of(clock_->now()), h->tag, h->length, h->sequence};
}

void LaneTrace::record_written() {
  const auto left = std::ranges::find_if(unwritten_, [this](const Segment& s) { return s.frame >= written_; });
  for (auto s = unwritten_.begin(); s != left; ++s) record(*s, trace::Kind::segment_out);
  unwritten_.erase(unwritten_.begin(), left);
}

void LaneTrace::record_arrived() {
  record(arriving_, trace::Kind::segment_in);
  arriving_ = {};
}

void LaneTrace::record(const Segment& s, trace::Kind kind) const {
  trace::add({.begin = s.begin,
              .end = trace::nanos_of(clock_->now()),
              .what = s.tag,
              .bytes = s.bytes,
              .detail = std::uint64_t{lane_} << 32 | s.sequence,
              .whose = session_,
              .rail = rail_,
              .priority = 0,
              .kind = kind});
}

}  // namespace railweave::engine
