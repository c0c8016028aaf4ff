#include "collective/exchange.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace railweave::perf::collective {
namespace {

constexpr std::size_t kTextBytes = 256;

}  // namespace

Status Exchange::barrier() { return group_.barrier()->wait(); }

Result<std::vector<double>> Exchange::numbers(const std::vector<double>& mine) {
  std::vector<double> all(mine.size() * std::size_t(group_.size()));
  RW_TRY(group_.all_gather(mine.data(), all.data(), mine.size(), collectives::DataType::float64)->wait());
  return all;
}

Result<std::vector<std::string>> Exchange::texts(const std::string& mine) {
  std::vector<char> one(kTextBytes), all(kTextBytes * std::size_t(group_.size()));
  std::memcpy(one.data(), mine.data(), std::min(mine.size(), kTextBytes - 1));
  RW_TRY(group_.all_gather(one.data(), all.data(), kTextBytes, collectives::DataType::uint8)->wait());
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size(); at += kTextBytes) texts.emplace_back(all.data() + at);
  return texts;
}

}  // namespace railweave::perf::collective
