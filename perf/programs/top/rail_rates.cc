#include "top/rail_rates.h"

#include <map>

#include "info/process_report.h"

namespace railweave::top {
namespace {

std::uint64_t grown(std::uint64_t earlier, std::uint64_t later) { return later > earlier ? later - earlier : 0; }

}  // namespace

std::vector<RailRate> rail_rates(const EngineStats& earlier, const EngineStats& later, Nanos elapsed) {
  const std::map<std::string, info::RailTotals> old = info::totals_by_rail(earlier);
  std::vector<RailRate> rates;
  for (const auto& [name, rail] : info::totals_by_rail(later)) {
    const auto found = old.find(name);
    const info::RailTotals was = found == old.end() ? info::RailTotals{} : found->second;
    const auto rate = [&](std::uint64_t before, std::uint64_t after) {
      return Rate::of(double(grown(before, after)), elapsed);
    };
    rates.push_back({name, rail.lanes, rate(was.bytes_sent, rail.bytes_sent),
                     rate(was.bytes_received, rail.bytes_received), rail.outstanding_bytes,
                     grown(was.retransmits, rail.retransmits)});
  }
  return rates;
}

}  // namespace railweave::top
