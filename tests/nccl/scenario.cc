#include "tests/nccl/scenario.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace railweave::nccl_test {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // a fixed hash of 64 bits: both ends draw the same numbers
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::size_t Scenario::size_of(std::uint32_t comm, std::uint64_t message) const {
  const std::uint64_t draw = mixed(mixed(seed + comm * 0x9e3779b97f4a7c15) + message);
  switch (sizes) {
    case Sizes::full: return slot_bytes;
    case Sizes::shorter: return slot_bytes - 1 - draw % std::min<std::uint64_t>(slot_bytes, 1024);
    case Sizes::random:
      if (draw % 8 == 0) return draw / 8 % 2 * slot_bytes;  // often one of the extremes
      return draw / 16 % (slot_bytes + 1) >> (draw >> 60);
    case Sizes::tiny: {
      constexpr std::array<std::size_t, 6> kTiny{0, 1, 7, 8, 129, 0};
      return std::min(kTiny[message % kTiny.size()], slot_bytes);
    }
  }
  return 0;
}

std::string Scenario::text() const {
  std::ostringstream out;
  out << version << ' ' << comms << ' ' << both_ways << ' ' << messages << ' ' << slot_bytes << ' ' << depth << ' '
      << int(sizes) << ' ' << optional_completion << ' ' << seed << ' ' << timeout_s;
  return out.str();
}

Scenario Scenario::parse(const std::string& text) {
  Scenario s;
  int sizes_number = 0;
  std::istringstream(text) >> s.version >> s.comms >> s.both_ways >> s.messages >> s.slot_bytes >> s.depth >>
      sizes_number >> s.optional_completion >> s.seed >> s.timeout_s;
  s.sizes = Sizes(sizes_number);
  return s;
}

}  // namespace railweave::nccl_test
