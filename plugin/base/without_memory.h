// What to do where memory is short and the work must not stay half done. Threads: any.
#pragma once

#include <unistd.h>
#include <new>

#include "railweave/status.h"

namespace railweave {

// Code::exhausted, Scope::session. Allocates at the first call only: whoever will need it asks for it early.
const Status& out_of_memory();

// Runs `act`, again while it finds no memory: for a second or so, then lets the exception out. REQUIRES: `act` may be
// repeated from its beginning wherever an allocation failed.
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
