// Every collective operation over real wires, against a plain oracle: every type and reduction, in place and not, 1 to
// 8 ranks, counts that divide by nothing or are zero, even and uneven. Messages between two ranks: messages_test.cc.
#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <utility>

#include "cases.h"
#include "collectives/group/group.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using collectives::DataType;
using collectives::Group;
using collectives::Operation;
using collectives::Reduction;
using collectives::WorkPtr;

constexpr std::size_t kCounts[] = {0, 1, 3, 130, 1027};

class Operations : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  int size() const { return std::get<0>(GetParam()); }
  bool shared_memory() const { return std::get<1>(GetParam()); }
};

WorkPtr start(Group& group, const Case& c, CaseMemory& memory) {
  const std::vector<std::size_t> counts = c.counts(group.rank());
  const void* in = memory.input();
  void* out = memory.output();
  switch (c.operation) {
    case Operation::all_gather:
      return c.uneven ? group.all_gather_v(in, out, counts, c.type) : group.all_gather(in, out, c.count, c.type);
    case Operation::reduce_scatter:
      return c.uneven ? group.reduce_scatter_v(in, out, counts, c.type, c.reduction, {}, kFactor)
                      : group.reduce_scatter(in, out, c.count, c.type, c.reduction, {}, kFactor);
    case Operation::all_reduce: return group.all_reduce(in, out, c.count, c.type, c.reduction, {}, kFactor);
    case Operation::broadcast: return group.broadcast(in, out, c.count, c.type, c.root);
    case Operation::reduce: return group.reduce(in, out, c.count, c.type, c.reduction, c.root, {}, kFactor);
    case Operation::gather: return group.gather(in, out, c.count, c.type, c.root);
    case Operation::scatter: return group.scatter(in, out, c.count, c.type, c.root);
    case Operation::all_to_all:
      return c.uneven ? group.all_to_all_v(in, out, counts, c.receive_counts(group.rank()), c.type)
                      : group.all_to_all(in, out, c.count, c.type);
    case Operation::barrier: return group.barrier();
  }
  return nullptr;
}

// Starts cases one after the other, and waits for all of them.
class Batch {
 public:
  explicit Batch(Group& group) : group_(group) {}
  void add(const Case& one) {
    runs_.push_back({one, std::make_unique<CaseMemory>(one, group_.rank()), nullptr});
    runs_.back().work = start(group_, one, *runs_.back().memory);
    if (runs_.size() == kMost) finish();
  }
  // Adds the case in place and not, even and uneven, as far as the operation has these variants.
  void add_variants(Case one) {
    const bool has_v = one.has_parts() && one.operation != Operation::gather && one.operation != Operation::scatter;
    for (const bool in_place : {false, true})
      for (const bool uneven : {false, true}) {
        if ((in_place && one.operation == Operation::all_to_all) || (uneven && !has_v)) continue;
        one.in_place = in_place;
        one.uneven = uneven;
        add(one);
      }
  }
  void finish() {
    for (const Run& run : runs_) EXPECT_EQ(outcome(run.work), "ok") << run.one.text();
    for (const Run& run : runs_) EXPECT_EQ(run.memory->wrong(), "");
    runs_.clear();
  }

 private:
  static constexpr std::size_t kMost = 32;
  struct Run {
    Case one;
    std::unique_ptr<CaseMemory> memory;
    WorkPtr work;
  };
  Group& group_;
  std::vector<Run> runs_;
};

TEST_P(Operations, reductions__every_type) {
  Ranks ranks(size(), "test", shared_memory());
  ranks.run([&](int, Group& group) {
    Batch batch(group);
    for (const Operation operation : {Operation::all_reduce, Operation::reduce_scatter, Operation::reduce})
      for (Case one : every_type(operation, size()))
        for (const std::size_t count : kCounts) {
          // tests/collectives/kernels tests every kernel at length
          if (count == 1027 && (int(one.type) + int(one.reduction)) % 5 != 0) continue;
          one.count = count;
          one.root = int(count) % size();
          batch.add_variants(one);
        }
    batch.finish();
  });
}

TEST_P(Operations, moves__every_type) {
  Ranks ranks(size(), "test", shared_memory());
  ranks.run([&](int, Group& group) {
    Batch batch(group);
    for (const Operation operation :
         {Operation::all_gather, Operation::gather, Operation::broadcast, Operation::scatter, Operation::all_to_all})
      for (Case one : every_type(operation, size()))
        for (const std::size_t count : kCounts) {
          one.count = count;
          one.root = int(count + 1) % size();
          batch.add_variants(one);
        }
    batch.finish();
  });
}

TEST_P(Operations, large_and_uneven_counts__between_barriers) {
  Ranks ranks(size(), "test", shared_memory());
  ranks.run([&](int, Group& group) {
    Batch batch(group);
    for (const DataType type : {DataType::float8_e5m2, DataType::bfloat16, DataType::float32})
      for (const Operation operation :
           {Operation::all_gather, Operation::barrier, Operation::reduce_scatter, Operation::all_to_all}) {
        Case one{.operation = operation, .ranks = size(), .count = 70'000, .type = type, .uneven = true};
        if (one.reduces() && !supports(type, one.reduction)) continue;
        batch.add(one);
      }
    batch.finish();
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Operations, testing::Combine(testing::Range(1, 9), testing::Bool()),
                         [](const auto& instance) {
                           return std::to_string(std::get<0>(instance.param)) +
                                  (std::get<1>(instance.param) ? "_shm" : "_tcp");
                         });

}  // namespace
}  // namespace railweave::collectives_test
