// Engines without a network, in one thread and in a time of its own: what is sent arrives a random while later, streams
// overtake each other, order holds only within each. Memory is read and written at any time that its requests allow.
// Replayable from a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "railweave/endpoint.h"

namespace railweave::collectives_test {

class FakeNetwork {
 public:
  // What is sent takes from 1 to `delay_most` steps.
  explicit FakeNetwork(std::uint64_t seed, std::uint64_t delay_most = 40);
  ~FakeNetwork();
  // One per rank; they reach each other by the handles of their listeners.
  std::shared_ptr<Engine> engine();
  // Calls of one sending stream, in their order: the orders of its posts, and the orders up to which it was expedited.
  struct Orders {
    std::vector<std::uint64_t> posted, expedited;
  };
  std::vector<Orders> orders() const;
  // Time goes on by one.
  void step();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace railweave::collectives_test
