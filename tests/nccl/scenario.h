// What two ranks do with each other. Both ends compute everything from the same values.
#pragma once

#include <cstdint>
#include <string>

#include "railweave/units.h"

namespace railweave::nccl_test {

enum class Sizes { full, shorter, random, tiny };  // all = the slot; less than the slot; 0..slot; 0, 1, 7, 8, 9, 0, ...

struct Scenario {
  int version = 11;
  int comms = 1;                // per direction
  bool both_ways = false;       // otherwise rank 0 sends
  std::uint64_t messages = 64;  // per comm
  std::size_t slot_bytes = 1 * MiB;
  int depth = 4;  // slots, hence requests in flight
  Sizes sizes = Sizes::full;
  bool optional_completion = false;  // *request == 0x1 on entry to irecv (NCCL does this from v9 on)
  std::uint64_t seed = 1;
  int timeout_s = 60;

  // Bytes of message `message` on comm `comm`.
  std::size_t size_of(std::uint32_t comm, std::uint64_t message) const;

  // One word per member; parse(text()) gives the same.
  std::string text() const;
  static Scenario parse(const std::string& text);
};

}  // namespace railweave::nccl_test
