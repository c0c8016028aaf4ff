// One posted send or receive: the slot that its caller tests.
//
// Threads: the thread that drives the session writes (under the session's mutex), the caller reads. `state` (release,
// acquire) orders the two.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "railweave/endpoint.h"
#include "railweave/status.h"

namespace railweave {

class Request {
 public:
  enum class State : std::uint32_t { free, posted, done };

  std::atomic<State> state{State::free};
  std::atomic<std::int64_t> posted_at_ns{0};  // CLOCK_MONOTONIC
  std::uint64_t bytes = 0;                    // valid once done
  std::uint64_t tag = 0;  // of a send: the caller's, until done; of a receive: the sender's, valid once done
  Status status;          // valid once done
  // The caller's memory. Only the caller's thread writes the fields below, before it posts the request.
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::uint64_t order = 0;  // of a send (SendStream::post())
  Reading reading = Reading::when_done;
};

}  // namespace railweave
