// Times one operation at one size, and checks its result.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collective/exchange.h"
#include "collective/operation.h"
#include "collective/options.h"
#include "collective/table.h"
#include "common/pages.h"

namespace railweave::perf::collective {

struct Case {
  DataType type = DataType::float32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  std::size_t bytes = 0;  // as asked for on the command line
};

// Threads: one. Every rank makes the same calls. Successive operations use successive parts of the memory, so that a
// size that fits in several times does not find its data in a cache.
class Bench {
 public:
  // Allocates memory for sizes up to options.max_bytes. Errors: system.
  static Result<Bench> create(const Operation& operation, const Options& options, Group& group);

  Status warm_up(const Case& one);
  Row row(const Case& one) const;
  // Adds to `failures` the number of ranks that found wrong data. REQUIRES: the clocks of all ranks run equally fast.
  Result<Measured> measure(const Case& one, bool in_place, std::int64_t& failures);

 private:
  Bench(const Operation& operation, const Options& options, Group& group, Pages send, Pages receive, std::size_t bytes);
  Shape shape(const Case& one) const;
  std::size_t part_bytes(const Case& one) const;  // bytes of the memory that one operation uses
  Call call(const Case& one, bool in_place, std::size_t index) const;
  Status iterate(const Case& one, bool in_place, std::size_t index);
  Status finish();
  Result<Measured> timed(const Case& one, bool in_place);
  Result<IterationTimes> report_iterations(const std::vector<double>& mine);
  Result<std::int64_t> check(const Case& one, bool in_place, std::uint64_t seed, std::int64_t& failures);
  std::int64_t wrong_here(const Case& one, const Call& made, std::uint64_t seed) const;
  double over_ranks(const std::vector<double>& each) const;

  const Operation& operation_;
  const Options& options_;
  Group& group_;
  Exchange exchange_;
  Pages send_, receive_;
  std::size_t bytes_;  // of send_ and of receive_, each
  std::vector<WorkPtr> works_;
  double issuing_s_ = 0;  // total so far
  std::uint64_t seed_ = 0;
};

}  // namespace railweave::perf::collective
