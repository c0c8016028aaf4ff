// The orderly end of an engine's sessions: GOODBYE with the last acks, half-close, drain, close (decision D4, endings).
// Bounded.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/runtime/reactor.h"
#include "engine/session/session.h"

namespace railweave::engine {

// Both run on the reactor's thread: `stop` ends all that might begin anything, and answers whom to say goodbye to;
// `close` follows when the sessions are done or their time is up. Returns when `close` has run, or the reactor found no
// memory or no time for that: what is left is then closed without ceremony. Errors: std::bad_alloc. REQUIRES: another
// thread than the reactor's, which runs.
void shut_down(Reactor& reactor, std::function<std::vector<std::shared_ptr<Session>>()> stop,
               std::function<void()> close);

}  // namespace railweave::engine
