// What the protocol hands out when a request ends. Exactly one per posted request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "railweave/endpoint.h"
#include "railweave/status.h"

namespace railweave::protocol {

using StreamId = std::uint32_t;

struct Completion {
  void* request = nullptr;  // as given to post()
  std::uint64_t bytes = 0;  // of the message
  Status status;
  std::uint64_t tag = 0;  // of a received message: its sender's word
};

// Appended to while the session works, drained by its owner after every call. Reserved once, so that the data path
// does not allocate.
using Completions = std::vector<Completion>;

// So many more can be appended without an allocation, which might fail half way.
inline void make_room(Completions& completions, std::size_t more) {
  const std::size_t needed = completions.size() + more;
  if (needed > completions.capacity()) completions.reserve(std::max(needed, 2 * completions.capacity()));
}

inline constexpr std::size_t kMessagesInFlight = kRequestsPerStream;  // per stream: posted or waiting for the last ack
inline constexpr std::size_t kEagerSlots = 8;                         // per stream and direction
// The eager window: bytes of a stream on their way to a receiver that did not say that it has them; one message may be
// longer. A request is done when the kernel has its bytes. A process that exits then takes along what the kernel could
// not send: so the eager window is no more than the first window of a connection takes at once. Only slots bound an
// urgent stream: behind a full queue a grant costs as much time as the message (docs/decisions/0018).
inline constexpr std::size_t kEagerBytesMax = 32 * KiB;
inline constexpr std::size_t kStreamsMax = 65536;  // per session and direction
// of these not answered yet, or refused and not forgotten
inline constexpr std::size_t kUnacceptedMax = 16384;
// Message slots: those in flight, and as many that one end has finished with and the other has not heard of yet.
inline constexpr std::size_t kMessageSlots = 2 * kMessagesInFlight;
static_assert(kMessageSlots <= 65536, "a GRANT tells by 16 bits which messages it acknowledges");

}  // namespace railweave::protocol
