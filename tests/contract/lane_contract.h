// What a wire provides to the contract suite, and the fixture that drives two lanes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/contract/recorder.h"
#include "wire/port.h"
#include "wire/wire.h"

namespace railweave::wire::contract {

struct LanePair {
  std::shared_ptr<void> world;      // object that the lanes use, if any; outlives them
  std::unique_ptr<Lane> near, far;  // two ends of one connection
  std::function<void()> pass_time;  // lets some time of the lanes pass, which may be simulated
};

struct LaneFactory {
  std::string name;
  std::function<LanePair()> connect;
};
inline void PrintTo(const LaneFactory& factory, std::ostream* out) { *out << factory.name; }

// A file NAME_factory.cc in this folder defines one object of this type, with a factory for each way to use its wire.
// No other file lists the wires.
struct RegisteredFactories {
  explicit RegisteredFactories(std::vector<LaneFactory> factories);
};
std::vector<LaneFactory> all_factories();

// Makes a pair of lanes as two instances do: with pending lanes, offers and bootstraps (wire/port.h). `dialled` and
// `accepted` are the ends of one connection. Offered descriptors pass directly.
LanePair connect_by(Port& port, Bootstrap dialled, Bootstrap accepted, std::function<void()> pass_time);
// The same for a wire within the host, over a socket pair.
LanePair connect_over_unix_socket(const Wire& wire);

class LaneContract : public ::testing::TestWithParam<LaneFactory> {
 protected:
  LaneContract() : pair(GetParam().connect()), near(*pair.near, 1), far(*pair.far, 2) {}

  // Queues a frame with `size` bytes of payload at `from`. The recorder `to` expects the frame.
  void send(Recorder& from, Recorder& to, std::size_t size) { to.expect(from.queue(size)); }

  // Both ends write and read once. If nothing moved: lets time pass and returns false.
  bool turn(std::size_t budget_bytes = 1 * MiB);
  // Calls turn() until `done`. Fails if nothing moves any more.
  void turn_until(const std::function<bool()>& done, std::size_t budget_bytes = 1 * MiB);
  bool all_arrived() const { return near.nothing_expected() && far.nothing_expected(); }
  bool all_released() const { return near.freed == near.queued && far.freed == far.queued; }
  void finish() {
    turn_until([&] { return all_arrived() && all_released(); });
  }

  // Writes at `who` only, and lets time pass, until the lane takes no more.
  void write_until_stuck(Recorder& who);

  LanePair pair;
  Recorder near, far;
};

}  // namespace railweave::wire::contract
