// One rank of a job: its proxy and its comms, with the plugin's functions called in NCCL's order.
#pragma once

#include <memory>
#include <vector>

#include "tests/nccl/channel.h"
#include "tests/nccl/flow.h"
#include "tests/nccl/library.h"
#include "tests/nccl/proxy.h"
#include "tests/nccl/scenario.h"

namespace railweave::nccl_test {

class Rank {
 public:
  // Calls init. `number` is 0 or 1.
  Rank(Net& net, Scenario scenario, int number);
  // Aborts unless close() was called: deregMr, free the buffers, close, finalize, whatever is outstanding.
  ~Rank();

  // Listens for all comms, exchanges the handles, polls connect and accept, closes the listen comms, registers memory.
  void connect(Channel& to_peer);
  // start() starts all flows. wait() waits until they are finished.
  void start();
  void wait();
  void run() { start(), wait(); }
  // Calls deregMr, frees the buffers and closes the comms, in NCCL's order. Then calls finalize.
  void close();

  std::vector<std::unique_ptr<SendFlow>>& sends() { return sends_; }
  std::vector<std::unique_ptr<RecvFlow>>& receives() { return receives_; }
  ProgressThread& progress() { return *progress_; }
  ServiceThread& service() { return service_; }
  void* context() const { return context_; }
  Net& net() { return net_; }

 private:
  std::string listen_for_all();
  void connect_all(const std::string& handles);

  Net& net_;
  const Scenario scenario_;
  void* context_ = nullptr;
  bool closed_ = false;
  std::vector<void*> listeners_;
  std::vector<std::unique_ptr<SendFlow>> sends_;
  std::vector<std::unique_ptr<RecvFlow>> receives_;
  ServiceThread service_;
  std::unique_ptr<ProgressThread> progress_ = std::make_unique<ProgressThread>();
};

// Aborts while nothing arrives from the peer: takes back every flow's memory, makes it inaccessible, and closes the
// rank. Throws Failure if a flow has nothing outstanding, or if the abort takes so long that it must have waited for
// the peer.
void abort_promptly(Rank& rank);

// Runs a rank from init to finalize: connect, run, barrier, close.
void run_rank(Net& net, const Scenario& scenario, int number, Channel& to_peer);

}  // namespace railweave::nccl_test
