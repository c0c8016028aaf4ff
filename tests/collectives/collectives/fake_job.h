// FakeJob: the ranks of one job over a FakeNetwork, each at its own speed, run operations by given algorithms. One
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cases.h"
#include "collectives/exec/execution.h"
#include "collectives/exec/peer_streams.h"
#include "collectives/schedule/algorithm.h"
#include "fake_network.h"

namespace railweave::collectives_test {

class FakeJob {
 public:
  // `unrest`: bound of delays and of differences in speed, in steps. The higher it is, the more steps many ranks need.
  FakeJob(int ranks, std::uint64_t seed, std::uint64_t unrest = 40);
  int ranks() const { return int(peers_.size()); }

  // Starts the operation at every rank. False: the algorithm does not fit, or a call was refused (finish() returns
  // why).
  bool add(const collectives::Algorithm& algorithm, const Case& one, int channel, std::uint64_t number = 0);
  // A caller waits for each operation that was added.
  void expedite();
  FakeNetwork& network() { return network_; }
  // Advances every part until it can do no more without a step of the network.
  void advance();
  // Execution::bytes_on_their_way() by part, in the order of add() and of ranks.
  std::vector<std::size_t> bytes_on_their_way() const;
  // Drives all parts, each rank at its speed, until they are done, and checks the memory. Returns what went wrong; "":
  // nothing.
  std::string finish();

 private:
  struct Part {
    int rank = 0;
    CaseMemory memory;
    std::vector<std::byte> scratch;
    std::unique_ptr<collectives::Execution> execution;
  };
  bool add(const collectives::Algorithm& algorithm, const Case& one, int rank, int channel, std::uint64_t number);
  // Advances some of the parts, by chance. Returns true if anything moved.
  Result<bool> turn(std::vector<Part*>& running);

  FakeNetwork network_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<collectives::PeerStreams>> peers_;
  std::vector<int> laziness_;  // by rank: turns until it advances, on average
  std::vector<std::unique_ptr<Part>> parts_;
  std::string refused_;
};

}  // namespace railweave::collectives_test
