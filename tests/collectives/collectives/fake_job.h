// The ranks of one job over a FakeNetwork, each at its own speed, that run operations by a named algorithm. One thread.
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
  // Delays and the differences of speed are up to `unrest` steps: many ranks need more of them the higher it is.
  FakeJob(int ranks, std::uint64_t seed, std::uint64_t unrest = 40);
  int ranks() const { return int(peers_.size()); }

  // Every rank starts its part. False: nothing of the kind, the algorithm does not fit (or a call was refused: see
  // finish()).
  bool add(const collectives::Algorithm& algorithm, const Case& one, int channel, std::uint64_t number = 0);
  // Somebody waits for each that was added.
  void expedite();
  FakeNetwork& network() { return network_; }
  // Every part advances often enough to do all that it can without the network's doing anything.
  void advance();
  // By part, in the order of adding and rank.
  std::vector<std::size_t> bytes_on_their_way() const;
  // Drives whoever happens to be awake until all is done, then looks at the memory. "" or what went wrong.
  std::string finish();

 private:
  struct Part {
    int rank = 0;
    CaseMemory memory;
    std::vector<std::byte> scratch;
    std::unique_ptr<collectives::Execution> execution;
  };
  bool add(const collectives::Algorithm& algorithm, const Case& one, int rank, int channel, std::uint64_t number);
  // The parts that are awake; whether anything moved.
  Result<bool> turn(std::vector<Part*>& running);

  FakeNetwork network_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<collectives::PeerStreams>> peers_;
  std::vector<int> laziness_;  // by rank: it moves once in so many turns
  std::vector<std::unique_ptr<Part>> parts_;
  std::string refused_;
};

}  // namespace railweave::collectives_test
