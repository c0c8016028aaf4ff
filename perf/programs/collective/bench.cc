#include "collective/bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "collective/iteration_times.h"
#include "collective/tile.h"

namespace railweave::perf::collective {
namespace {

constexpr std::size_t kElementBytesMax = 16;
constexpr Nanos kEndMost = std::chrono::seconds(1);  // for an aborted operation to end

double seconds_since(TimePoint start) { return std::chrono::duration<double>(now() - start).count(); }

Contents contents(const Operation& operation, const Case& one, int ranks, std::uint64_t seed) {
  return {one.type, operation.reduces, one.reduction, ranks, seed};
}

}  // namespace

Result<Bench> Bench::create(const Operation& operation, const Options& options, Group& group) {
  const Shape largest = operation.shape(options.max_bytes, 1, group.size());
  const std::size_t bytes = std::max(largest.send, largest.receive);
  const std::size_t whole = bytes + std::size_t(options.unalign) * kElementBytesMax;
  RW_ASSIGN_OR_RETURN(Pages send, Pages::allocate(whole));
  RW_ASSIGN_OR_RETURN(Pages receive, Pages::allocate(whole));
  return Bench(operation, options, group, std::move(send), std::move(receive), bytes);
}

Bench::Bench(const Operation& operation, const Options& options, Group& group, Pages send, Pages receive,
             std::size_t bytes)
    : operation_(operation),
      options_(options),
      group_(group),
      exchange_(group),
      send_(std::move(send)),
      receive_(std::move(receive)),
      bytes_(bytes) {}

Shape Bench::shape(const Case& one) const {
  const std::size_t element_bytes = collectives::size_bytes(one.type);
  return operation_.shape(one.bytes / element_bytes, element_bytes, group_.size());
}

std::size_t Bench::part_bytes(const Case& one) const {
  const Shape s = shape(one);
  return std::max(s.send, s.receive) * collectives::size_bytes(one.type);
}

Row Bench::row(const Case& one) const {
  const std::string_view reduction = operation_.reduces ? table_name(one.reduction) : "none";
  return {part_bytes(one), shape(one).count, std::string(table_name(one.type)), std::string(reduction),
          operation_.rooted ? one.root : -1};
}

Call Bench::call(const Case& one, bool in_place, std::size_t index) const {
  const Shape s = shape(one);
  const std::size_t element_bytes = collectives::size_bytes(one.type), part = part_bytes(one);
  const std::size_t parts = part > 0 ? std::max<std::size_t>(bytes_ / part, 1) : 1;
  const std::size_t offset = std::size_t(options_.unalign) * element_bytes + index % parts * part;
  std::byte* const receive = receive_.span().data() + offset;
  const std::size_t rank_bytes = std::size_t(group_.rank()) * element_bytes;
  Call made{send_.span().data() + offset, receive, s.count, one.type, one.reduction, one.root, kPremulFactor};
  if (in_place && operation_.in_place) {
    made.input = receive + s.send_in_place * rank_bytes;
    made.output = receive + s.receive_in_place * rank_bytes;
  }
  return made;
}

// Issues operations of an iteration in batches; those of one batch have separate memory.
Status Bench::iterate(const Case& one, bool in_place, std::size_t index) {
  const auto aggregated = std::size_t(options_.aggregated);
  const std::size_t part = part_bytes(one);
  const std::size_t at_once = std::max<std::size_t>(1, part > 0 ? bytes_ / part : aggregated);
  for (std::size_t issued = 0; issued < aggregated;) {
    const std::size_t until = std::min(aggregated, issued + at_once);
    const TimePoint start = options_.cpu_time ? now() : TimePoint{};
    for (; issued < until; ++issued) {
      operation_.start(group_, call(one, in_place, index * aggregated + issued), works_);
    }
    if (options_.cpu_time) issuing_s_ += seconds_since(start);
    RW_TRY(finish());
  }
  if (options_.blocking == 1) return exchange_.barrier();
  return {};
}

Status Bench::finish() {
  const Nanos patience = options_.timeout_s > 0 ? Nanos(std::chrono::seconds(options_.timeout_s)) : Nanos::max();
  Status first;
  for (const WorkPtr& work : works_) {
    const Status status = work->wait(patience);
    if (!first.ok() || status.ok()) continue;
    // An operation may have ended because a rank was silent for too long; its own message is then the better one.
    const bool ours = status.code() == Code::timed_out && !work->test();
    if (!ours) {
      first = status;
      continue;
    }
    work->abort();                              // or the operation would use memory that is freed
    const Status ended = work->wait(kEndMost);  // names the rank that the operation waited for
    first = Status(Code::timed_out, Scope::request,
                   fmt::format("Test timeout ({}s){}{}", options_.timeout_s, ended.ok() ? "" : ": ", ended.message()));
  }
  works_.clear();
  return first;
}

Status Bench::warm_up(const Case& one) {
  if (options_.warmup == 0) return {};
  for (Case size = one; size.bytes <= options_.max_bytes; size.bytes = std::max<std::size_t>(1, size.bytes * 2)) {
    for (int i = 0; i < options_.warmup; ++i) RW_TRY(iterate(size, false, std::size_t(i)));
  }
  return {};
}

double Bench::over_ranks(const std::vector<double>& each) const {
  switch (options_.average) {
    case 0: return each.front();
    case 1: return std::accumulate(each.begin(), each.end(), 0.0) / double(each.size());
    case 2: return *std::min_element(each.begin(), each.end());
    default: return *std::max_element(each.begin(), each.end());
  }
}

Result<IterationTimes> Bench::report_iterations(const std::vector<double>& mine) {
  RW_ASSIGN_OR_RETURN(const std::vector<double> all, exchange_.numbers(mine));
  std::vector<double> slowest(mine.size(), 0);
  for (std::size_t i = 0; i < all.size(); ++i) slowest[i % mine.size()] = std::max(slowest[i % mine.size()], all[i]);
  return summarise_iterations(slowest, std::size_t(options_.skipped));
}

Result<Measured> Bench::timed(const Case& one, bool in_place) {
  RW_TRY(iterate(one, in_place, 0));
  RW_TRY(exchange_.barrier());
  std::vector<double> singles_us;
  if (options_.per_iteration) singles_us.reserve(std::size_t(options_.iterations));
  issuing_s_ = 0;
  const TimePoint start = now();
  for (int i = 0; i < options_.iterations; ++i) {
    const TimePoint begun = options_.per_iteration ? now() : start;
    RW_TRY(iterate(one, in_place, std::size_t(i)));
    if (options_.per_iteration) singles_us.push_back(seconds_since(begun) * 1e6);
  }
  const double operations = double(options_.iterations) * options_.aggregated;
  const double mine_s = seconds_since(start) / operations, issuing_s = issuing_s_ / operations;
  RW_ASSIGN_OR_RETURN(const std::vector<double> each, exchange_.numbers({mine_s}));
  const double seconds = over_ranks(each);
  const Shape s = shape(one);
  const double share = double(s.count) * double(collectives::size_bytes(one.type));
  Measured measured;
  measured.time_us = (options_.cpu_time ? issuing_s : seconds) * 1e6;
  measured.algbw = gigabytes_per_s(operation_.counts_all_ranks ? share * group_.size() : share, seconds);
  measured.busbw = measured.algbw * operation_.bus_factor(group_.size());
  if (options_.per_iteration) {
    RW_ASSIGN_OR_RETURN(measured.iterations, report_iterations(singles_us));
  }
  return measured;
}

std::int64_t Bench::wrong_here(const Case& one, const Call& made, std::uint64_t seed) const {
  const Contents what = contents(operation_, one, group_.size(), seed);
  const auto* const output = static_cast<const std::byte*>(made.output);
  const std::size_t element_bytes = collectives::size_bytes(one.type);
  std::int64_t wrong = 0;
  for (const Expected& part : operation_.expected({group_.rank(), group_.size(), one.root, made.count})) {
    const Tile wanted = part.source < 0 ? Tile::of_all(what) : Tile::of_rank(what, part.source);
    wrong += std::int64_t(wanted.count_wrong(output + part.offset * element_bytes, part.count, part.phase));
  }
  return wrong;
}

Result<std::int64_t> Bench::check(const Case& one, bool in_place, std::uint64_t seed, std::int64_t& failures) {
  const Call made = call(one, in_place, 0);
  const Shape s = shape(one);
  const std::size_t part = part_bytes(one), lead = std::size_t(options_.unalign) * collectives::size_bytes(one.type);
  std::fill_n(receive_.span().data() + lead, part, std::byte{0});
  Tile::of_rank(contents(operation_, one, group_.size(), seed), group_.rank())
      .fill(static_cast<std::byte*>(const_cast<void*>(made.input)), s.send, 0);
  operation_.start(group_, made, works_);
  RW_TRY(finish());
  RW_ASSIGN_OR_RETURN(const std::vector<double> each, exchange_.numbers({double(wrong_here(one, made, seed))}));
  failures += std::count_if(each.begin(), each.end(), [](double wrong) { return wrong > 0; });
  return std::int64_t(std::accumulate(each.begin(), each.end(), 0.0));
}

Result<Measured> Bench::measure(const Case& one, bool in_place, std::int64_t& failures) {
  RW_ASSIGN_OR_RETURN(Measured measured, timed(one, in_place));
  if (options_.checks == 0) return measured;
  std::int64_t wrong = 0;
  for (int i = 0; i < options_.checks && wrong == 0; ++i) {
    RW_ASSIGN_OR_RETURN(wrong, check(one, in_place, ++seed_, failures));
  }
  if (!in_place || operation_.in_place) measured.wrong = wrong;
  return measured;
}

}  // namespace railweave::perf::collective
