// Every operation, every type and reduction, rank counts 1 to 8, counts that divide by nothing, against a plain oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "collectives/group.h"
#include "ranks.h"
#include "values.h"

namespace railweave::collectives_test {
namespace {

using collectives::DataType;
using collectives::Group;
using collectives::Reduction;
using collectives::WorkPtr;

constexpr std::size_t kCounts[] = {0, 1, 3, 130, 1027};

class Operations : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  int size() const { return std::get<0>(GetParam()); }
  bool shared_memory() const { return std::get<1>(GetParam()); }
};

Bytes memory(std::size_t count, DataType type) { return Bytes(count * collectives::size_bytes(type) + 1, std::byte(0x5a)); }

// What rank `r` has, `count` elements from index `first` of its endless row.
Bytes row(int r, std::size_t first, std::size_t count, DataType type) {
  Bytes data = memory(count, type);
  for (std::size_t i = 0; i < count; ++i) store(data, type, i, value_of(r, first + i, type));
  return data;
}

Bytes contributed(Reduction reduction, int ranks, int r, std::size_t count, DataType type) {
  Bytes data = memory(count, type);
  for (std::size_t i = 0; i < count; ++i) store(data, type, i, contribution(reduction, ranks, r, i, type));
  return data;
}

Bytes result(Reduction reduction, int ranks, std::size_t first, std::size_t count, DataType type) {
  Bytes data = memory(count, type);
  for (std::size_t i = 0; i < count; ++i) store(data, type, i, reduced(reduction, type, ranks, first + i));
  return data;
}

// The byte behind the memory is the test's: nobody writes there.
void expect_same(const Bytes& is, const Bytes& should_be, const std::string& what) {
  if (is == should_be) return;
  const auto at = std::ranges::mismatch(is, should_be).in1 - is.begin();
  ADD_FAILURE() << what << ": differs from byte " << at << " of " << is.size();
}

std::vector<std::size_t> uneven(int ranks, std::size_t count) {
  std::vector<std::size_t> counts;
  for (int r = 0; r < ranks; ++r) counts.push_back(r % 3 == 1 ? 0 : count + std::size_t(r) * 5);
  return counts;
}

std::size_t sum(const std::vector<std::size_t>& counts, int ranks) {
  return std::accumulate(counts.begin(), counts.begin() + ranks, std::size_t(0));
}

TEST_P(Operations, reductions__every_type) {
  Ranks ranks(size(), "test", shared_memory());
  ranks.run([&](int rank, Group& group) {
    for (int t = 0; t < collectives::kDataTypes; ++t)
      for (int o = 0; o < collectives::kReductions; ++o) {
        const auto type = DataType(t);
        const auto op = Reduction(o);
        if (!collectives::supports(type, op)) continue;
        for (const std::size_t count : kCounts) {
          if (count == 1027 && (t + o) % 5 != 0) continue;  // every kernel is tested at length by itself
          const std::string what = std::string(name(op)) + " of " + std::to_string(count) + " " + std::string(name(type));
          const std::size_t all = count * std::size_t(size());
          const Bytes in = contributed(op, size(), rank, count, type), long_in = contributed(op, size(), rank, all, type);
          Bytes out = memory(count, type), place = in, part = memory(count, type), at_root = memory(count, type);
          const int root = int(count) % size();
          const WorkPtr works[] = {group.all_reduce(in.data(), out.data(), count, type, op, {}, kFactor),
                                   group.all_reduce(place.data(), place.data(), count, type, op, {}, kFactor),
                                   group.reduce_scatter(long_in.data(), part.data(), count, type, op, {}, kFactor),
                                   group.reduce(in.data(), at_root.data(), count, type, op, root, {}, kFactor)};
          for (const WorkPtr& work : works) ASSERT_EQ(outcome(work), "ok") << what;
          const Bytes expected = result(op, size(), 0, count, type);
          expect_same(out, expected, "all_reduce, " + what);
          expect_same(place, expected, "all_reduce in place, " + what);
          expect_same(part, result(op, size(), std::size_t(rank) * count, count, type), "reduce_scatter, " + what);
          expect_same(at_root, rank == root ? expected : memory(count, type), "reduce, " + what);
        }
      }
  });
}

TEST_P(Operations, moves__every_root_and_uneven_counts) {
  Ranks ranks(size(), "test", shared_memory());
  ranks.run([&](int rank, Group& group) {
    for (const DataType type : {DataType::float8_e4m3, DataType::int16, DataType::float32, DataType::complex128})
      for (const std::size_t count : kCounts) {
        const int root = int(count + 1) % size();
        const std::size_t all = count * std::size_t(size());
        const std::string what = std::to_string(count) + " " + std::string(name(type)) + ", rank " + std::to_string(rank);
        const Bytes own = row(rank, 0, count, type), everything = row(rank, 0, all, type);
        Bytes gathered = memory(all, type), at_root = memory(all, type), told = memory(count, type), part = memory(count, type),
              exchanged = memory(all, type);
        const WorkPtr works[] = {group.all_gather(own.data(), gathered.data(), count, type),
                                 group.gather(own.data(), at_root.data(), count, type, root),
                                 group.broadcast(own.data(), told.data(), count, type, root),
                                 group.scatter(everything.data(), part.data(), count, type, root),
                                 group.all_to_all(everything.data(), exchanged.data(), count, type)};
        for (const WorkPtr& work : works) ASSERT_EQ(outcome(work), "ok") << what;
        Bytes all_rows = memory(all, type), columns = memory(all, type);
        for (int r = 0; r < size(); ++r) {
          const Bytes theirs = row(r, 0, count, type), for_us = row(r, std::size_t(rank) * count, count, type);
          std::memcpy(all_rows.data() + std::size_t(r) * (theirs.size() - 1), theirs.data(), theirs.size() - 1);
          std::memcpy(columns.data() + std::size_t(r) * (for_us.size() - 1), for_us.data(), for_us.size() - 1);
        }
        expect_same(gathered, all_rows, "all_gather of " + what);
        expect_same(at_root, rank == root ? all_rows : memory(all, type), "gather of " + what);
        expect_same(told, row(root, 0, count, type), "broadcast of " + what);
        expect_same(part, row(root, std::size_t(rank) * count, count, type), "scatter of " + what);
        expect_same(exchanged, columns, "all_to_all of " + what);
      }
  });
}

TEST_P(Operations, v_variants__counts_that_differ_and_are_zero) {
  Ranks ranks(size(), "test", shared_memory());
  ranks.run([&](int rank, Group& group) {
    const DataType type = DataType::float32;
    for (const std::size_t count : {1, 97, 70'000}) {
      const std::vector<std::size_t> counts = uneven(size(), count);
      const std::size_t all = sum(counts, size()), mine = counts[std::size_t(rank)];
      const Bytes own = row(rank, 0, mine, type), in = contributed(Reduction::sum, size(), rank, all, type);
      Bytes gathered = memory(all, type), part = memory(mine, type);
      // To rank p go counts[p] elements; from each come as many as this rank's count.
      const std::vector<std::size_t> from_each(std::size_t(size()), mine);
      const Bytes outgoing = row(rank, 0, all, type);
      Bytes incoming = memory(mine * std::size_t(size()), type);
      ASSERT_EQ(outcome(group.all_gather_v(own.data(), gathered.data(), counts, type)), "ok");
      ASSERT_EQ(outcome(group.reduce_scatter_v(in.data(), part.data(), counts, type, Reduction::sum)), "ok");
      ASSERT_EQ(outcome(group.all_to_all_v(outgoing.data(), incoming.data(), counts, from_each, type)), "ok");
      Bytes rows = memory(all, type), columns = memory(mine * std::size_t(size()), type);
      for (int r = 0; r < size(); ++r) {
        const Bytes theirs = row(r, 0, counts[std::size_t(r)], type), for_us = row(r, sum(counts, rank), mine, type);
        std::memcpy(rows.data() + sum(counts, r) * 4, theirs.data(), theirs.size() - 1);
        std::memcpy(columns.data() + std::size_t(r) * mine * 4, for_us.data(), for_us.size() - 1);
      }
      expect_same(gathered, rows, "all_gather_v of " + std::to_string(count));
      expect_same(part, result(Reduction::sum, size(), sum(counts, rank), mine, type), "reduce_scatter_v of " + std::to_string(count));
      expect_same(incoming, columns, "all_to_all_v of " + std::to_string(count));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Operations, testing::Combine(testing::Range(1, 9), testing::Bool()), [](const auto& instance) {
  return std::to_string(std::get<0>(instance.param)) + (std::get<1>(instance.param) ? "_shm" : "_tcp");
});

}  // namespace
}  // namespace railweave::collectives_test
