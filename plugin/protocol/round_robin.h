// RoundRobin: chooses the stream for the next segment (decision D3). Expedited streams come first, then urgent, normal
// and bulk ones. Within each of these four queues, the stream with the lowest order of its next message goes first.
// Streams of equal order take turns of about a segment (deficit round robin, Shreedhar and Varghese 1996).
// A queue that was overtaken by 16 segments gets one, so no queue starves. A stream may starve within its queue:
// callers that number their operations upwards get the oldest served first.
// Threads: one at a time (the session's owner). Nothing is allocated.
#pragma once

#include <cstddef>

#include "protocol/fifo.h"
#include "protocol/send_stream.h"
#include "railweave/endpoint.h"

namespace railweave::protocol {

class RoundRobin {
 public:
  // Call after any change of the stream. Puts the stream in its place if it has a segment to send; else removes it.
  void note(SendStream& stream);
  bool empty() const { return streams_ == 0; }
  // Returns the next stream for which `may` returns true; null: none.
  template <class May>
  SendStream* pick(const May& may) const;
  // A segment with `bytes` bytes of payload was cut from the stream. The caller calls note() next.
  void took(SendStream& stream, std::uint32_t bytes);

 private:
  static constexpr int kQueues = 1 + kPriorities;
  static constexpr int kOvertakenMax = 16;

  using Queue = Fifo<SendStream, &SendStream::round_hook>;
  void enter(SendStream& stream, int queue, std::uint64_t order);

  Queue queues_[kQueues];
  // by queue: segments of earlier queues since its own last segment; none are counted while it is empty
  int overtaken_[kQueues] = {};
  std::size_t streams_ = 0;
};

template <class May>
SendStream* RoundRobin::pick(const May& may) const {
  SendStream* first = nullptr;
  for (int q = 0; q < kQueues; ++q) {
    SendStream* s = queues_[q].front();
    while (s != nullptr && !may(*s)) s = Queue::next(s);
    if (s != nullptr && overtaken_[q] >= kOvertakenMax) return s;
    if (first == nullptr) first = s;
  }
  return first;
}

}  // namespace railweave::protocol
