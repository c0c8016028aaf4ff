// Whose segment goes next (decision D3): streams that are expedited before urgent, normal and bulk ones; within each of
// these queues by the order of the message that is due, equal ones by turns of about a segment (deficit round robin,
// Shreedhar and Varghese 1996). A queue that was overtaken by 16 segments gets one, so none starves. Within a queue
// that is up to the caller: who numbers what it issues has the old go first.
// One thread at a time (the session's owner). No allocation.
#pragma once

#include <cstddef>

#include "protocol/fifo.h"
#include "protocol/send_stream.h"
#include "railweave/endpoint.h"

namespace railweave::protocol {

class RoundRobin {
 public:
  // After any change of the stream: in its place when it has a segment to send, else nowhere.
  void note(SendStream& stream);
  bool empty() const { return streams_ == 0; }
  // The next of those for which `may` answers true; null when there is none.
  template <class May>
  SendStream* pick(const May& may) const;
  // A segment with so many bytes of payload was cut from it. note() comes after.
  void took(SendStream& stream, std::uint32_t bytes);

 private:
  static constexpr int kQueues = 1 + kPriorities;
  static constexpr int kOvertakenMax = 16;

  using Queue = Fifo<SendStream, &SendStream::round_hook>;
  void enter(SendStream& stream, int queue, std::uint64_t order);

  Queue queues_[kQueues];
  int overtaken_[kQueues] = {};  // by segments since its last one; while it is empty none are counted
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
