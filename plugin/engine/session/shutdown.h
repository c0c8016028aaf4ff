// The orderly end of an engine's sessions: GOODBYE with the last acks, half-close, drain, close (decision D4, endings).
// Bounded: sessions have 1 s; a reactor that is busy or without memory is waited for twice, 10 s each.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/runtime/reactor.h"
#include "engine/session/session.h"

namespace railweave::engine {

// Runs `stop` and `close` on the reactor's thread. `stop` ends everything that may begin new work, and returns the
// sessions to end. `close` runs when these sessions have ended or their time is up. Returns once `close` has run.
// Returns earlier if the reactor had no memory or no time for `close`: the caller then closes what is left.
// Errors: std::bad_alloc.
// REQUIRES: the reactor runs; the caller is on another thread.
void shut_down(Reactor& reactor, std::function<std::vector<std::shared_ptr<Session>>()> stop,
               std::function<void()> close);

}  // namespace railweave::engine
