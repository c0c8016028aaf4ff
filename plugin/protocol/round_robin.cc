#include "protocol/round_robin.h"

#include <cassert>

#include "protocol/frame.h"

namespace railweave::protocol {
namespace {

constexpr std::int64_t kTurnBytes = kSegmentBytesMax;
constexpr int kExpedited = 0;

}  // namespace

void RoundRobin::note(SendStream& stream) {
  if (!stream.has_segment()) {
    if (!stream.round_hook.linked) return;
    assert(streams_ > 0);
    queues_[stream.turn_queue].remove(&stream);
    --streams_;
    return;
  }
  const int queue = stream.expedited() ? kExpedited : 1 + int(stream.priority());
  const std::uint64_t order = stream.order();
  if (!stream.round_hook.linked) {
    ++streams_;
  } else if (stream.turn_queue == queue && stream.turn_order == order) {
    return;
  } else {
    queues_[stream.turn_queue].remove(&stream);
  }
  enter(stream, queue, order);
}

// Puts the stream behind those of equal order.
void RoundRobin::enter(SendStream& stream, int queue, std::uint64_t order) {
  assert(queue >= 0 && queue < kQueues);
  stream.turn_queue = queue;
  stream.turn_order = order;
  SendStream* before = queues_[queue].back();
  while (before != nullptr && before->turn_order > order) before = Queue::previous(before);
  queues_[queue].insert(&stream, before);
}

void RoundRobin::took(SendStream& stream, std::uint32_t bytes) {
  assert(stream.round_hook.linked);
  const int queue = stream.turn_queue;
  overtaken_[queue] = 0;
  for (int q = queue + 1; q < kQueues; ++q) overtaken_[q] += queues_[q].empty() ? 0 : 1;
  stream.turn_bytes_left -= bytes + kFrameHeaderBytes;
  if (stream.turn_bytes_left > 0) return;
  stream.turn_bytes_left += kTurnBytes;
  queues_[queue].remove(&stream);
  enter(stream, queue, stream.turn_order);
}

}  // namespace railweave::protocol
