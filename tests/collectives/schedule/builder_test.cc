#include "collectives/schedule/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace railweave::collectives {
namespace {

using Waits = std::vector<std::uint32_t>;

Problem all_reduce(bool in_place) {
  Problem problem;
  problem.operation = Operation::all_reduce;
  problem.ranks = 2;
  problem.element_bytes = problem.partial_bytes = 4;
  problem.counts = {1000};
  problem.in_place = in_place;
  return problem;
}

Waits waits(const Schedule& schedule, std::size_t step) {
  const Step& one = schedule.steps[step];
  return {schedule.after.begin() + one.after_begin, schedule.after.begin() + one.after_end};
}

TEST(Builder, waits__for_who_wrote_what_is_read) {
  const Problem problem = all_reduce(false);
  Builder builder(problem);
  builder.receive(1, builder.output({0, 100}));
  builder.receive(1, builder.output({100, 100}));
  builder.send(1, builder.output({50, 100}));
  builder.send(1, builder.output({0, 50}));
  const Schedule schedule = builder.take();
  EXPECT_EQ(waits(schedule, 1), Waits{});
  EXPECT_EQ(waits(schedule, 2), (Waits{0, 1}));
  EXPECT_EQ(waits(schedule, 3), (Waits{0}));
}

TEST(Builder, waits__for_who_reads_what_is_written) {
  for (const bool in_place : {false, true}) {
    const Problem problem = all_reduce(in_place);
    Builder builder(problem);
    builder.send(1, builder.input({0, 100}));
    builder.receive(1, builder.output({90, 20}));
    EXPECT_EQ(waits(builder.take(), 1), in_place ? Waits{0} : Waits{});
  }
}

TEST(Builder, waits__for_steps_that_the_caller_names) {
  const Problem problem = all_reduce(false);
  Builder builder(problem);
  const Builder::StepId first[] = {builder.receive(1, builder.output({}))};
  builder.send(1, builder.input({}), first);
  EXPECT_EQ(waits(builder.take(), 1), Waits{0});
}

TEST(Builder, reduce__into_one_of_its_operands) {
  const Problem problem = all_reduce(false);
  Builder builder(problem);
  const Piece sum{Place::scratch, Form::partial, builder.scratch(400), 100};
  builder.receive(1, sum);
  const Piece operands[] = {sum, builder.input({0, 100})};
  builder.reduce(operands, sum);
  builder.send(1, sum);
  const Schedule schedule = builder.take();
  EXPECT_EQ(waits(schedule, 1), Waits{0});
  EXPECT_EQ(waits(schedule, 2), Waits{1});
}

TEST(Builder, copy__nothing_where_there_is_nothing_to_do) {
  const Problem problem = all_reduce(true);
  Builder builder(problem);
  builder.copy(builder.input({0, 10}), builder.output({0, 10}));
  builder.copy(builder.input({0, 0}), builder.output({5, 0}));
  EXPECT_TRUE(builder.take().steps.empty());
}

TEST(Builder, scratch__in_whole_lines) {
  const Problem problem = all_reduce(false);
  Builder builder(problem);
  EXPECT_EQ(builder.scratch(1), 0u);
  EXPECT_EQ(builder.scratch(0), 128u);
  EXPECT_EQ(builder.scratch(129), 128u);
  EXPECT_EQ(builder.take().scratch_bytes, 384u);
}

TEST(Slots, piece__takes_turns) {
  const Problem problem = all_reduce(false);
  Builder builder(problem);
  const Slots slots(builder, 5, 2, 100), few(builder, 1, 2, 100);
  EXPECT_EQ(slots.piece(0, Form::raw, 1).offset_bytes, 0u);
  EXPECT_EQ(slots.piece(1, Form::raw, 1).offset_bytes, 128u);
  EXPECT_EQ(slots.piece(2, Form::raw, 1).offset_bytes, 0u);
  EXPECT_EQ(few.piece(0, Form::raw, 1).offset_bytes, 256u);
  EXPECT_EQ(builder.take().scratch_bytes, 384u);
}

// Compares Accesses with a record of every byte.
TEST(Accesses, waits__as_a_record_of_every_byte_says) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    constexpr std::size_t kBytes = 64;
    Accesses accesses;
    std::vector<int> writer(kBytes, -1);
    std::vector<std::vector<int>> readers(kBytes);
    for (int step = 0; step < 60; ++step) {
      const std::size_t begin = random() % kBytes, end = begin + random() % (kBytes - begin + 1);
      const bool writes = random() % 2;
      std::vector<std::uint32_t> after;
      const Extent extent{Place::output, begin, end};
      writes ? accesses.write(extent, std::uint32_t(step), after) : accesses.read(extent, std::uint32_t(step), after);
      const auto has = [&after](int one) {
        return std::find(after.begin(), after.end(), std::uint32_t(one)) != after.end();
      };
      std::vector<bool> needed(std::size_t(step), false);
      for (std::size_t at = begin; at < end; ++at) {
        if (writer[at] >= 0) needed[std::size_t(writer[at])] = true;
        if (writes)
          for (const int reader : readers[at]) needed[std::size_t(reader)] = true;
        if (writes)
          writer[at] = step, readers[at].clear();
        else
          readers[at].push_back(step);
      }
      for (int one = 0; one < step; ++one)
        ASSERT_EQ(has(one), needed[std::size_t(one)]) << round << " " << step << " " << one;
    }
  }
}

}  // namespace
}  // namespace railweave::collectives
