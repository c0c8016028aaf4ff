#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/endpoint_thread.h"

#include <fmt/format.h>

#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/loaded_code.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/service_thread.h"
#include "wire/ofi/exit_gate.h"
#include "wire/ofi/failure.h"

namespace railweave::wire::ofi {
namespace {

constexpr Nanos kCloseRetry = std::chrono::milliseconds(10);

using EndpointList = std::unique_ptr<Endpoint>;  // linked by Endpoint::next

void push(EndpointList& list, std::unique_ptr<Endpoint> endpoint) {
  endpoint->next = std::move(list);
  list = std::move(endpoint);
}

// Endpoints that stay open until the process ends. They are kept in a list, so a leak checker finds them in use.
void abandon(std::unique_ptr<Endpoint> endpoint) {
  struct Abandoned {
    Mutex mutex;
    EndpointList list RW_GUARDED_BY(mutex);
  };
  static auto* const abandoned = new Abandoned;
  const MutexLock lock(abandoned->mutex);
  push(abandoned->list, std::move(endpoint));
}

// Closes each endpoint of the list that can be closed. Those that cannot be closed yet stay in the list.
void close_all(const Library& library, EndpointList& list) {
  EndpointList still_open;
  while (list) {
    std::unique_ptr<Endpoint> endpoint = std::exchange(list, std::move(list->next));
    if (endpoint->close_now()) continue;
    if (now() - endpoint->close_began < EndpointThread::kCloseLimit) {
      push(still_open, std::move(endpoint));
      continue;
    }
    RW_WARN(net, "an endpoint of libfabric cannot be closed: {}; its memory stays in use",
            library.error_text(endpoint->close_error()));
    abandon(std::move(endpoint));  // the device may still write to its slots
  }
  list = std::move(still_open);
}

// The process exits: what is open stays open.
void leave_all(EndpointList& list) {
  while (list) abandon(std::exchange(list, std::move(list->next)));
}

}  // namespace

struct EndpointThread::State {
  State(const Library& its_library, Provider its_provider, Nanos slow_after)
      : library(its_library), provider(std::move(its_provider)), slow(slow_after) {}
  // What is open here came after the thread had left, at the exit of the process, and stays open.
  ~State() {
    leave_all(to_close);
    if (opened) abandon(std::move(opened));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const Library& library;
  const Provider provider;
  const Nanos slow;
  fid_fabric* fabric = nullptr;

  Mutex mutex;
  ConditionVariable changed;
  bool wanted RW_GUARDED_BY(mutex) = false;               // an endpoint is to be opened
  std::unique_ptr<Endpoint> opened RW_GUARDED_BY(mutex);  // and was not taken yet
  std::optional<Status> open_error RW_GUARDED_BY(mutex);  // of the last opening; none: no error, or reported
  EndpointList to_close RW_GUARDED_BY(mutex);
  bool ended RW_GUARDED_BY(mutex) = false;  // nobody holds the EndpointThread
};

Result<std::shared_ptr<EndpointThread>> EndpointThread::start(const Library& library, Provider provider, Nanos slow) {
  auto state = std::make_shared<State>(library, std::move(provider), slow);
  const int error = library.fabric(state->provider.info->fabric_attr, &state->fabric, nullptr);
  if (error != 0) return failure(library, fmt::format("provider {}: fi_fabric", state->provider.name()), error);
  keep_code_loaded();
  (void)ExitGate::of_process();  // after the library was loaded, so that the gate closes before the library ends
  std::thread thread;
  const Status started = start_service_thread(thread, "rw-ofi", [state] { run(*state); });
  if (!started.ok()) {
    (void)fi_close(&state->fabric->fid);
    return started;
  }
  thread.detach();
  return std::shared_ptr<EndpointThread>(new EndpointThread(std::move(state)));
}

EndpointThread::~EndpointThread() {
  if (in_child()) return;  // the thread does not exist here, and the mutex may be locked for ever
  const MutexLock lock(state_->mutex);
  state_->ended = true;
  state_->changed.notify_all();
}

Result<std::unique_ptr<Endpoint>> EndpointThread::open(Nanos patience) {
  if (in_child()) return Status(Code::internal, Scope::lane, "a forked child cannot use the parent's wire ofi");
  State& state = *state_;
  const MutexLock lock(state.mutex);
  state.open_error.reset();
  state.wanted = !state.opened;
  state.changed.notify_all();
  state.changed.wait_for(state.mutex, patience,
                         [&]() RW_REQUIRES(state.mutex) { return state.opened || state.open_error; });
  if (state.open_error) return *std::exchange(state.open_error, std::nullopt);
  if (!state.opened)
    return Status(Code::exhausted, Scope::lane,
                  fmt::format("provider {} did not open an endpoint within {} ms; the next attempt uses it",
                              state.provider.name(), patience / std::chrono::milliseconds(1)));
  state.wanted = state.opened->open_took > state.slow;
  if (state.wanted) state.changed.notify_all();
  return std::move(state.opened);
}

void EndpointThread::close(std::unique_ptr<Endpoint> endpoint) {
  endpoint->close_began = now();
  const MutexLock lock(state_->mutex);
  push(state_->to_close, std::move(endpoint));
  state_->changed.notify_all();
}

// Waits for work. Moves the endpoints that are to be closed to `closing`.
EndpointThread::Work EndpointThread::next_work(State& state, std::unique_ptr<Endpoint>& closing) {
  const MutexLock lock(state.mutex);
  const auto has_work = [&]() RW_REQUIRES(state.mutex) {
    return state.to_close || (state.wanted && !state.opened) || (state.ended && !closing);
  };
  if (closing)
    state.changed.wait_for(state.mutex, kCloseRetry, has_work);
  else
    state.changed.wait(state.mutex, has_work);
  while (state.to_close) push(closing, std::exchange(state.to_close, std::move(state.to_close->next)));
  if (state.ended && state.opened) {
    state.opened->close_began = now();
    push(closing, std::move(state.opened));
  }
  const bool opens = std::exchange(state.wanted, false) && !state.opened && !state.ended;
  return {opens, state.ended};
}

void EndpointThread::open_one(State& state) {
  const TimePoint began = now();
  Result<std::unique_ptr<Endpoint>> opened = Endpoint::open(state.library, state.fabric, state.provider);
  const MutexLock lock(state.mutex);
  if (opened.ok()) {
    state.opened = std::move(*opened);
    state.opened->open_took = now() - began;
  } else {
    state.open_error = opened.status();
  }
  state.changed.notify_all();
}

void EndpointThread::run(State& state) {
  ExitGate& gate = ExitGate::of_process();
  EndpointList closing;
  for (bool ended = false; !ended || closing;) {
    const Work work = next_work(state, closing);
    ended = work.ended;
    if (!gate.enter()) return leave_all(closing);
    if (work.opens_one) open_one(state);
    close_all(state.library, closing);
    if (ended && !closing) (void)fi_close(&state.fabric->fid);
    gate.leave();
  }
}

const Library& EndpointThread::library() const { return state_->library; }
const Provider& EndpointThread::provider() const { return state_->provider; }
fid_fabric* EndpointThread::fabric() const { return state_->fabric; }

}  // namespace railweave::wire::ofi
#endif
