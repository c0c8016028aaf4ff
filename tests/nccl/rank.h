// One rank of a job: its proxy, its comms, and the order in which NCCL goes through their life.
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
  // Abort, if the steps below were not all taken: deregMr, buffers freed, close, finalize, whatever is outstanding.
  ~Rank();

  // listen for everything, exchange all handles, connect and accept by polling, close the listen comms, register.
  void connect(Channel& to_peer);
  // Starts all flows; wait() for them.
  void start();
  void wait();
  void run() { start(), wait(); }
  // deregMr, free the buffers, close: NCCL's order. Then finalize.
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

// Abort while nothing comes from the peer: every flow's memory is taken back and forbidden, then the rank closes.
// Throws Failure when a flow has nothing outstanding, or when it takes longer than who waits for nobody needs.
void abort_promptly(Rank& rank);

// The whole life of a rank: connect, run, barrier, close.
void run_rank(Net& net, const Scenario& scenario, int number, Channel& to_peer);

}  // namespace railweave::nccl_test
