// Bytes and packets per network interface of this process's network namespace, from /proc/net/dev.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave::perf {

struct InterfaceCounters {
  std::uint64_t rx_bytes = 0, rx_packets = 0, tx_bytes = 0, tx_packets = 0;
  std::uint64_t drops = 0;  // both directions
};
using CountersByName = std::map<std::string, InterfaceCounters>;

// Keeps /proc/net/dev open, so that a sample costs one pread. Threads: one.
class InterfaceSampler {
 public:
  static Result<InterfaceSampler> open();
  // Returns an empty map if the file cannot be read.
  CountersByName sample() const;

 private:
  explicit InterfaceSampler(OwnedFd file) : file_(std::move(file)) {}
  OwnedFd file_;
};

CountersByName difference(const CountersByName& later, const CountersByName& earlier);

// Parses the text of /proc/net/dev. Public for tests.
CountersByName parse_interface_counters(const std::string& text);

}  // namespace railweave::perf
