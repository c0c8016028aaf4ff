// Completion: the result of one request. The protocol hands out exactly one for each posted request.
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
  std::uint64_t bytes = 0;  // bytes of the message; 0 unless `status` is OK
  Status status;
  std::uint64_t tag = 0;  // received message: the tag that its sender gave; 0 for a send
};

// Completions that wait for the session's owner. The session appends, and the owner drains after every call. The memory
// is reserved once, so that the data path does not allocate.
using Completions = std::vector<Completion>;

// Reserves room for `more` further completions, so that appending them cannot run out of memory half-way. Errors:
// throws std::bad_alloc.
inline void make_room(Completions& completions, std::size_t more) {
  const std::size_t needed = completions.size() + more;
  if (needed > completions.capacity()) completions.reserve(std::max(needed, 2 * completions.capacity()));
}

// per stream end: messages posted and not yet retired (send) or ended (receive)
inline constexpr std::size_t kMessagesInFlight = kRequestsPerStream;
inline constexpr std::size_t kEagerSlots = 8;  // per stream and direction
// Eager window, in bytes: eager messages of a stream that the receiver has not acknowledged. A single message may be
// longer. An eager request is done when the kernel has its bytes; if the process exits then, unsent bytes are lost.
// Therefore the eager window is no more than the first window of a connection, which is sent at once. An urgent stream
// has no such bound, only slots: behind a full queue a grant costs as much time as the message (docs/decisions/0018).
inline constexpr std::size_t kEagerBytesMax = 32 * KiB;
inline constexpr std::size_t kStreamsMax = 65536;  // per session and direction
// per session: incoming streams not answered yet, or refused and not forgotten
inline constexpr std::size_t kUnacceptedMax = 16384;
// Message slots of a stream end: messages in flight, and as many that one end has finished while the other end does not
// know yet.
inline constexpr std::size_t kMessageSlots = 2 * kMessagesInFlight;
static_assert(kMessageSlots <= 65536, "a GRANT tells by 16 bits which messages it acknowledges");

}  // namespace railweave::protocol
