// The records of operations in a trace, over streams and on the exchange.
#include "base/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "collectives/group/fingerprint.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace railweave::collectives;

class TraceOver : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Wires, TraceOver, testing::Bool(), [](const auto& shm) { return shm.param ? "shm" : "tcp"; });

std::vector<trace::Record> of(const trace::Taken& taken, trace::Kind kind) {
  std::vector<trace::Record> found;
  std::ranges::copy_if(taken.records, std::back_inserter(found),
                       [kind](const trace::Record& r) { return r.kind == kind; });
  return found;
}

TEST_P(TraceOver, operations__from_issue_to_end_with_their_waits) {
  Ranks ranks(2, "traced", GetParam());
  const std::size_t counts[] = {16, 1'000'000};
  ASSERT_TRUE(trace::start(100'000));
  ranks.run([&](int, Group& group) {
    std::vector<float> in(counts[1], 1), out(counts[1]);
    for (const std::size_t count : counts)
      ASSERT_EQ(outcome(group.all_reduce(in.data(), out.data(), count, DataType::float32, Reduction::sum)), "ok");
  });
  const trace::Taken taken = trace::stop();
  std::map<std::uint64_t, int> seen;  // by bytes
  for (const trace::Record& r : of(taken, trace::Kind::operation)) {
    ++seen[r.bytes];
    EXPECT_GT(r.begin, 0);
    EXPECT_LE(r.begin, std::int64_t(r.detail));
    EXPECT_LE(std::int64_t(r.detail), r.end);
    EXPECT_TRUE(collectives::described(r.what).starts_with("all_reduce of ")) << collectives::described(r.what);
  }
  for (const trace::Record& r : of(taken, trace::Kind::operation)) EXPECT_EQ(taken.names.at(r.whose), "traced");
  EXPECT_EQ(seen, (std::map<std::uint64_t, int>{{counts[0] * 4, 2}, {counts[1] * 4, 2}}));
  const auto waits = of(taken, trace::Kind::wait);
  EXPECT_FALSE(waits.empty());
  for (const trace::Record& r : waits) EXPECT_LE(r.begin, r.end);
}

TEST_P(TraceOver, an_operation_of_an_earlier_trace__is_not_of_this_one) {
  Ranks ranks(2, "two traces", GetParam());
  std::vector<float> in(1'000'000, 1), out[2] = {in, in};
  std::vector<WorkPtr> works;
  const auto issue = [&](int rank) {
    works.push_back(
        ranks.group(rank).all_reduce(in.data(), out[rank].data(), in.size(), DataType::float32, Reduction::sum));
  };
  ASSERT_TRUE(trace::start(100'000));
  issue(0);
  trace::stop();
  const std::int64_t between = trace::nanos_of(now());
  ASSERT_TRUE(trace::start(100'000));
  issue(1);
  ranks.run([&](int rank, Group&) { ASSERT_EQ(outcome(works[std::size_t(rank)]), "ok"); });
  const trace::Taken taken = trace::stop();
  EXPECT_EQ(of(taken, trace::Kind::operation).size(), 1u);
  for (const trace::Record& r : taken.records) EXPECT_GE(r.begin, between);
}

TEST(Trace, segments__have_their_operation_and_come_as_they_went) {
  Ranks ranks(2, "segments", false);
  constexpr std::size_t kCount = 1'000'000;
  ASSERT_TRUE(trace::start(100'000));
  ranks.run([&](int rank, Group& group) {
    std::vector<float> in(kCount, float(rank)), out(2 * kCount);
    ASSERT_EQ(outcome(group.all_gather(in.data(), out.data(), kCount, DataType::float32)), "ok");
  });
  const trace::Taken taken = trace::stop();
  const auto operations = of(taken, trace::Kind::operation);
  ASSERT_EQ(operations.size(), 2u);
  const auto key = [](const trace::Record& r) { return std::tuple(r.whose, r.detail, r.bytes, r.what); };
  std::multimap<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>, std::int64_t> sent;
  std::uint64_t out_bytes = 0, in_bytes = 0;
  for (const trace::Record& r : of(taken, trace::Kind::segment_out)) {
    EXPECT_LE(r.begin, r.end);
    ASSERT_LT(r.rail, taken.names.size());
    sent.emplace(key(r), r.begin);
    if (r.what == operations[0].what) out_bytes += r.bytes;
  }
  for (const trace::Record& r : of(taken, trace::Kind::segment_in)) {
    const auto [first, last] = sent.equal_range(key(r));
    EXPECT_TRUE(std::any_of(first, last, [&](const auto& s) { return s.second <= r.begin; }))
        << "of " << r.bytes << " bytes";
    if (r.what == operations[0].what) in_bytes += r.bytes;
  }
  EXPECT_EQ(out_bytes, 2 * kCount * 4);  // both ranks' input, once each
  EXPECT_EQ(in_bytes, out_bytes);
}

TEST(Trace, off__nothing_is_recorded) {
  Ranks ranks(2, "untraced", false);
  ranks.run([](int, Group& group) { ASSERT_EQ(outcome(group.barrier()), "ok"); });
  ASSERT_TRUE(trace::start(100));
  EXPECT_TRUE(trace::stop().records.empty());
}

}  // namespace
}  // namespace railweave::collectives_test
