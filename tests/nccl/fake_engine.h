// An engine without a network, for tests of plugin/nccl: streams are queues in this process, and any call can be made
// to fail. Implements Engine::start, so it is linked instead of rw_engine.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "railweave/endpoint.h"

namespace railweave::fake {

// The objects that the plugin could leak, and what the plugin asked for.
struct Counters {
  std::atomic<int> engines{0}, listeners{0}, connectors{0}, streams{0}, withdrawals{0};
  std::atomic<int> last_traffic_class{-2};
  std::atomic<Reading> last_reading{Reading::when_done};
};
Counters& counters();

// The next call of this kind (of any object) fails with `status`.
enum class Call { start, listen, connect, poll, accept, post, test };
void fail_next(Call call, Status status);

// The next call of this kind throws.
void throw_next(Call call);

// The next call of this kind runs `first` before anything else, on its caller's thread.
void run_at_next(Call call, std::function<void()> first);

}  // namespace railweave::fake
