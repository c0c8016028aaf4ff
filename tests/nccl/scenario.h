// The traffic between two ranks. Both ends compute everything from the same values.
#pragma once

#include <cstdint>
#include <string>

#include "railweave/units.h"

namespace railweave::nccl_test {

enum class Sizes { full, shorter, random, tiny };  // of messages, see size_of()

struct Scenario {
  int version = 11;
  int comms = 1;                // in each direction
  bool both_ways = false;       // false: only rank 0 sends
  std::uint64_t messages = 64;  // per comm
  std::size_t slot_bytes = 1 * MiB;
  int depth = 4;  // slots, and so requests in flight
  Sizes sizes = Sizes::full;
  bool optional_completion = false;  // *request == 0x1 on entry to irecv (NCCL does this from v9 on)
  std::uint64_t seed = 1;
  int timeout_s = 60;

  // Returns the bytes of message `message` on comm `comm`. full: the slot's size; shorter: at least 1 byte less;
  // random: from 0 to the slot's size; tiny: 0, 1, 7, 8, 129, 0, and again.
  std::size_t size_of(std::uint32_t comm, std::uint64_t message) const;

  // Returns one word per member. parse(text()) returns the same scenario.
  std::string text() const;
  static Scenario parse(const std::string& text);
};

}  // namespace railweave::nccl_test
