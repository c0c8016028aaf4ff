#include "wire/lane_metrics.h"

namespace railweave::wire {

LaneStats LaneMetrics::stats() const {
  LaneStats s;
  s.wire = wire;
  s.rail = rail;
  s.local_address = local_address;
  s.remote_address = remote_address;
  s.bytes_sent = sent.payload_bytes.value();
  s.frames_sent = sent.frames.value();
  s.write_calls = sent.calls.value();
  s.bytes_received = received.payload_bytes.value();
  s.frames_received = received.frames.value();
  s.read_calls = received.calls.value();
  s.closed = closed.value() != 0;
  s.outstanding_bytes = s.closed ? 0 : outstanding_bytes.value();
  s.retransmits = retransmits.value();
  s.damaged_frames = damaged_frames.value();
  s.rate = Rate{double(rate_bytes_per_s.value())};
  s.min_rtt = Nanos(std::int64_t(min_rtt_ns.value()));
  s.send_window_bytes = send_window_bytes.value();
  s.recv_window_bytes = recv_window_bytes.value();
  s.rail_senders = rail_senders.value();
  s.without_credit = Nanos(std::int64_t(without_credit_ns.value()));
  return s;
}

}  // namespace railweave::wire
