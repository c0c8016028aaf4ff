#include "common/interface_counters.h"

#include <fcntl.h>

#include <sstream>

#include "base/error.h"

namespace railweave::perf {

Result<InterfaceSampler> InterfaceSampler::open() {
  OwnedFd file(::open("/proc/self/net/dev", O_RDONLY | O_CLOEXEC));
  if (!file) return system_error(Scope::engine, "open /proc/self/net/dev");
  return InterfaceSampler(std::move(file));
}

CountersByName InterfaceSampler::sample() const {
  std::string text(16384, '\0');
  const ssize_t n = ::pread(file_.get(), text.data(), text.size(), 0);
  text.resize(n > 0 ? std::size_t(n) : 0);
  return parse_interface_counters(text);
}

CountersByName parse_interface_counters(const std::string& text) {
  CountersByName all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;  // the two heading lines
    const auto first = line.find_first_not_of(' ');
    std::istringstream numbers(line.substr(colon + 1));
    // bytes packets errs drop fifo frame compressed multicast for reception, then the same eight for transmission
    std::uint64_t n[16] = {};
    for (auto& value : n) numbers >> value;
    all[line.substr(first, colon - first)] = InterfaceCounters{
        .rx_bytes = n[0], .rx_packets = n[1], .tx_bytes = n[8], .tx_packets = n[9], .drops = n[3] + n[11]};
  }
  return all;
}

CountersByName difference(const CountersByName& later, const CountersByName& earlier) {
  CountersByName result;
  for (const auto& [name, b] : later) {
    const auto found = earlier.find(name);
    const InterfaceCounters a = found == earlier.end() ? InterfaceCounters{} : found->second;
    result[name] = InterfaceCounters{b.rx_bytes - a.rx_bytes, b.rx_packets - a.rx_packets, b.tx_bytes - a.tx_bytes,
                                     b.tx_packets - a.tx_packets, b.drops - a.drops};
  }
  return result;
}

}  // namespace railweave::perf
