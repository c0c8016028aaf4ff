// Handles a lack of memory where work must not stay half done. Threads: any.
#pragma once

#include <unistd.h>
#include <new>

#include "railweave/status.h"

namespace railweave {

// Returns Code::exhausted, Scope::session. Allocates at the first call only, so code that will need the Status calls
// this function early.
const Status& out_of_memory();

// Runs `act`, and runs it again as long as it throws std::bad_alloc: 1000 times, 1 ms apart, which takes about a
// second. Then the exception leaves this function. REQUIRES: `act` may be repeated from its beginning after any failed
// allocation.
template <class Act>
void until_memory(Act&& act) {
  constexpr int kTries = 1000;
  constexpr useconds_t kPauseUs = 1000;
  for (int tries = 1;; ++tries) {
    try {
      return act();
    } catch (const std::bad_alloc&) {
      if (tries == kTries) throw;
    }
    usleep(kPauseUs);
  }
}

}  // namespace railweave
