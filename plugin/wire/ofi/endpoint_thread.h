// The thread that opens and closes the endpoints of one port. Both may take long: the provider ofi_rxm opens an
// endpoint in about 100 ms, and fi_close() may block, or ask to be called again. The reactor must not wait for either.
//
// Ends: neither the port nor a lane waits for the thread, and the exit of the process only shortly (exit_gate.h). The
// thread ends by itself when nobody holds an EndpointThread any more and all endpoints are closed. The thread then
// closes the fabric.
// An endpoint that cannot be closed for kCloseLimit is given up: the endpoint stays, with its memory.
// Fork: in the child an EndpointThread does nothing, and its objects stay.
// Threads: open() one at a time; close() any.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <utility>

#include "base/process_origin.h"
#include "railweave/status.h"
#include "railweave/units.h"
#include "wire/ofi/endpoint.h"
#include "wire/ofi/library.h"
#include "wire/ofi/provider.h"

namespace railweave::wire::ofi {

class EndpointThread {
 public:
  static constexpr Nanos kCloseLimit = std::chrono::seconds(30);
  static constexpr Nanos kSlow = std::chrono::milliseconds(5);

  // Starts the thread, which keeps this library loaded. An endpoint that takes longer than `slow` to open makes the
  // thread open the next one ahead. Errors: Code::exhausted (no thread), Code::system (fi_fabric).
  static Result<std::shared_ptr<EndpointThread>> start(const Library& library, Provider provider, Nanos slow = kSlow);
  ~EndpointThread();

  // Returns a new endpoint. Waits for the thread, at most `patience`. An endpoint that comes later serves the next
  // call.
  // Errors: Code::exhausted (nothing came in time; no memory), Code::system (as Endpoint::open()).
  Result<std::unique_ptr<Endpoint>> open(Nanos patience);
  // Closes an endpoint, whenever that is possible. Does not wait, and allocates no memory.
  void close(std::unique_ptr<Endpoint> endpoint);

  const Library& library() const;
  const Provider& provider() const;
  fid_fabric* fabric() const;
  bool in_child() const { return origin_.in_child(); }  // of the process that started the thread

 private:
  struct State;  // the thread has a share

  explicit EndpointThread(std::shared_ptr<State> state) : state_(std::move(state)) {}
  struct Work {
    bool opens_one, ended;
  };
  static Work next_work(State& state, std::unique_ptr<Endpoint>& closing);
  static void open_one(State& state);
  static void run(State& state);

  const ProcessOrigin origin_;
  const std::shared_ptr<State> state_;
};

}  // namespace railweave::wire::ofi
