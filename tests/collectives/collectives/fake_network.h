// FakeNetwork: engines without a network, in one thread and in virtual time. A message arrives after a random time:
// streams overtake each other, and order holds only within a stream. Memory is read and written at any time that its
// requests allow. The same seed gives the same run.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "railweave/endpoint.h"

namespace railweave::collectives_test {

class FakeNetwork {
 public:
  // A message takes 1 to `delay_most` steps.
  explicit FakeNetwork(std::uint64_t seed, std::uint64_t delay_most = 40);
  ~FakeNetwork();
  // Returns a new engine, for one rank. Engines reach each other by the handles of their listeners.
  std::shared_ptr<Engine> engine();
  // Calls of one sending stream, in their order: the orders of its posts, and the orders up to which it was expedited.
  struct Orders {
    std::vector<std::uint64_t> posted, expedited;
  };
  std::vector<Orders> orders() const;
  // Advances the time by one step.
  void step();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace railweave::collectives_test
