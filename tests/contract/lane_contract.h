// What a wire gives to the contract suite, and the fixture that drives two lanes by it.
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
  std::shared_ptr<void> world;      // what the lanes live in, if anything; outlives them
  std::unique_ptr<Lane> near, far;  // two ends of one connection
  std::function<void()> pass_time;  // lets a little pass: of the lanes' time, not necessarily ours
};

struct LaneFactory {
  std::string name;
  std::function<LanePair()> connect;
};
inline void PrintTo(const LaneFactory& factory, std::ostream* out) { *out << factory.name; }

// A file NAME_factory.cc in this folder makes one of these, with a factory for each way to use its wire; nothing else
// lists the wires.
struct RegisteredFactories {
  explicit RegisteredFactories(std::vector<LaneFactory> factories);
};
std::vector<LaneFactory> all_factories();

// A pair of lanes as two instances make it: pending lanes, offers, bootstraps, birth (wire/port.h). `dialled` and
// `accepted` are the ends of one connection. Descriptors that are offered pass directly.
LanePair connect_by(Port& port, Bootstrap dialled, Bootstrap accepted, std::function<void()> pass_time);
// The same for a wire within the host, over a socket pair.
LanePair connect_over_unix_socket(const Wire& wire);

class LaneContract : public ::testing::TestWithParam<LaneFactory> {
 protected:
  LaneContract() : pair(GetParam().connect()), near(*pair.near, 1), far(*pair.far, 2) {}

  // The next frame of `from` has a payload of `size` bytes and is expected by `to`.
  void send(Recorder& from, Recorder& to, std::size_t size) { to.expect(from.queue(size)); }

  // One turn of both ends; false, after letting time pass, when nothing moved.
  bool turn(std::size_t budget_bytes = 1 * MiB);
  // Turns until `done`; fails when nothing more happens.
  void turn_until(const std::function<bool()>& done, std::size_t budget_bytes = 1 * MiB);
  bool all_arrived() const { return near.nothing_expected() && far.nothing_expected(); }
  bool all_released() const { return near.freed == near.queued && far.freed == far.queued; }
  void finish() {
    turn_until([&] { return all_arrived() && all_released(); });
  }

  // Writes at `who` alone, letting time pass, until the lane takes no more.
  void write_until_stuck(Recorder& who);

  LanePair pair;
  Recorder near, far;
};

}  // namespace railweave::wire::contract
