// The checker finds every kind of broken schedule. Each test breaks a good schedule in one way.
#include "collectives/schedule/checker.h"

#include <gtest/gtest.h>

#include "problems.h"

namespace railweave::collectives {
namespace {

using Kind = Step::Kind;

class Checker : public testing::Test {
 protected:
  void load(Operation operation, std::string_view name, int ranks, std::size_t count = 1000, bool in_place = false) {
    Problem problem = problem_of(operation, ranks, count);
    problem.chunk_bytes = 1024;
    problem.in_place = in_place;
    problems_ = everybody(problem);
    schedules_ = build_all(algorithm(operation, name), problems_);
    ASSERT_TRUE(check(problems_, schedules_).ok()) << check(problems_, schedules_).message();
  }

  std::string complaint() const {
    const Status status = check(problems_, schedules_);
    return status.ok() ? "nothing" : status.message();
  }

  void expect_complaint(const std::string& what) const {
    EXPECT_NE(complaint().find(what), std::string::npos) << complaint();
  }

  // Returns the index of the n-th step of that kind (and peer) at a rank.
  std::size_t find(std::size_t rank, Kind kind, int peer = -1, std::size_t n = 0) const {
    const auto& steps = schedules_[rank].steps;
    for (std::size_t id = 0; id < steps.size(); ++id)
      if (steps[id].kind == kind && (peer < 0 || steps[id].peer == peer) && n-- == 0) return id;
    ADD_FAILURE() << "no such step";
    return 0;
  }
  Step& step(std::size_t rank, Kind kind, int peer = -1, std::size_t n = 0) {
    return schedules_[rank].steps[find(rank, kind, peer, n)];
  }

  std::vector<Problem> problems_;
  std::vector<Schedule> schedules_;
};

TEST_F(Checker, a_send_that_does_not_wait_for_its_data) {
  load(Operation::all_gather, "ring", 4);
  Step& forward = step(1, Kind::send, 2, 4);
  ASSERT_LT(forward.after_begin, forward.after_end);
  forward.after_end = forward.after_begin;
  expect_complaint("does not wait for it");
  expect_complaint("rank 1 step " + std::to_string(find(1, Kind::send, 2, 4)) + " (send of");
}

TEST_F(Checker, a_reduction_that_does_not_wait_for_one_operand) {
  load(Operation::reduce_scatter, "direct", 4);
  Step& reduce = step(2, Kind::reduce);
  ASSERT_EQ(reduce.after_end - reduce.after_begin, 3u);
  --reduce.after_end;
  expect_complaint("does not wait for it");
}

TEST_F(Checker, scratch_that_is_used_again_too_early) {
  load(Operation::reduce_scatter, "direct", 2, 20'000);
  const std::size_t again = find(0, Kind::receive, 1, 16);
  Step& receive = schedules_[0].steps[again];
  ASSERT_LT(receive.after_begin, receive.after_end);
  receive.after_end = receive.after_begin;
  expect_complaint("does not wait for it");
}

TEST_F(Checker, a_result_that_overwrites_input_still_being_sent) {
  load(Operation::all_reduce, "direct", 2, 1000, true);
  for (std::size_t n = 0; n < 4; ++n) {
    Step& receive = step(0, Kind::receive, 1, n);
    if (receive.to.place == Place::output) receive.after_end = receive.after_begin;
  }
  expect_complaint("does not wait for it");
}

TEST_F(Checker, two_sends_in_the_other_order) {
  load(Operation::all_gather, "direct", 3);
  std::swap(step(0, Kind::send, 1, 0).from, step(0, Kind::send, 1, 1).from);
  expect_complaint("output element 0 is 0 element");
  expect_complaint("rank 1: ");
}

TEST_F(Checker, a_wrong_offset) {
  load(Operation::all_gather, "direct", 3);
  step(1, Kind::receive, 0).to.offset_bytes += 4;
  EXPECT_NE(complaint(), "nothing");
  load(Operation::broadcast, "binomial", 5);
  step(0, Kind::send, 1).from.offset_bytes += 128;
  EXPECT_NE(complaint(), "nothing");
}

TEST_F(Checker, a_piece_beyond_its_memory) {
  load(Operation::all_gather, "direct", 3);
  step(1, Kind::send, 0).from.offset_bytes += 1'000'000;
  expect_complaint("rank 1 step ");
  expect_complaint("of 4000");
  load(Operation::reduce_scatter, "direct", 3);
  schedules_[2].scratch_bytes -= 128;
  expect_complaint("rank 2 step ");
}

TEST_F(Checker, a_message_of_another_size) {
  load(Operation::all_gather, "direct", 3);
  step(1, Kind::send, 0).from.count -= 1;
  expect_complaint("does not fit rank 1 step");
}

TEST_F(Checker, a_message_that_nobody_receives_or_sends) {
  load(Operation::all_gather, "direct", 3);
  Step& last = step(0, Kind::send, 1, 3);
  last.kind = Kind::copy;
  last.to = schedules_[0].steps[find(0, Kind::copy, -1, 3)].to;
  EXPECT_NE(complaint(), "nothing");
  load(Operation::scatter, "direct", 3);
  schedules_[1].steps.pop_back();
  expect_complaint("nobody receives it");
  load(Operation::gather, "direct", 3);
  schedules_[1].steps.pop_back();
  expect_complaint("nobody sends it");
}

TEST_F(Checker, a_missing_copy_or_reduction) {
  load(Operation::all_gather, "direct", 2, 10);
  ASSERT_EQ(schedules_[1].steps.back().kind, Kind::copy);
  schedules_[1].steps.pop_back();
  expect_complaint("rank 1: not all of the output was written");
  load(Operation::reduce_scatter, "direct", 2, 10);
  ASSERT_EQ(schedules_[0].steps.back().kind, Kind::reduce);
  schedules_[0].steps.pop_back();
  expect_complaint("rank 0: not all of the output was written");
}

TEST_F(Checker, an_operand_missing_or_twice) {
  load(Operation::reduce_scatter, "direct", 3, 10);
  --step(1, Kind::reduce).operands_end;
  expect_complaint("not everybody's input");
  load(Operation::reduce_scatter, "direct", 3, 10);
  Step& reduce = step(1, Kind::reduce);
  schedules_[1].operands[reduce.operands_begin] = schedules_[1].operands[reduce.operands_begin + 2];
  expect_complaint("reduced twice");
}

TEST_F(Checker, elements_of_different_places_reduced_to_one) {
  load(Operation::reduce_scatter, "direct", 3, 1000);
  step(1, Kind::send, 0).from.offset_bytes += 4;
  expect_complaint("are reduced to one");
}

TEST_F(Checker, another_order_of_reduction_on_one_rank) {
  load(Operation::all_reduce, "one_shot", 3, 10);
  Step& reduce = step(2, Kind::reduce);
  std::swap(schedules_[2].operands[reduce.operands_begin], schedules_[2].operands[reduce.operands_begin + 1]);
  expect_complaint("rank 2: unlike rank 0: output element 0 is [1 0 2]");
}

TEST_F(Checker, a_result_rounded_twice_or_never_finished) {
  load(Operation::reduce_scatter, "direct", 2, 10);
  Schedule& schedule = schedules_[0];
  const Piece result = step(0, Kind::reduce).to;
  Step again = step(0, Kind::reduce);
  again.operands_begin = std::uint32_t(schedule.operands.size());
  schedule.operands.push_back(result);
  again.operands_end = std::uint32_t(schedule.operands.size());
  again.after_begin = std::uint32_t(schedule.after.size());
  schedule.after.push_back(std::uint32_t(schedule.steps.size() - 1));
  again.after_end = std::uint32_t(schedule.after.size());
  schedule.steps.push_back(again);
  expect_complaint("a finished result is an operand");
  schedule.operands.back().form = Form::raw;  // not the form of the data there
  expect_complaint("has another form");
  load(Operation::reduce_scatter, "direct", 2, 10);
  step(0, Kind::reduce).to.form = Form::partial;
  expect_complaint("partial sums outside of scratch");
}

TEST_F(Checker, input_that_is_written) {
  load(Operation::broadcast, "binomial", 2, 10);
  step(0, Kind::copy).to = step(0, Kind::copy).from;
  expect_complaint("rank 0 step 1 (copy of 40 bytes): writes the input");
}

TEST_F(Checker, steps_that_wait_for_later_ones_or_for_nobody) {
  load(Operation::all_gather, "ring", 3, 10);
  Schedule& schedule = schedules_[0];
  const std::size_t forward = find(0, Kind::send, 1, 1);
  schedule.after[schedule.steps[forward].after_begin] = std::uint32_t(forward);
  expect_complaint("which is not earlier");
  load(Operation::all_gather, "ring", 3, 10);
  step(0, Kind::send).peer = 0;
  expect_complaint("no such peer");
}

TEST_F(Checker, a_deadlock) {
  // Both ranks send only after they have received.
  const auto receive_then_send = [](int peer) {
    Schedule schedule;
    Step receive, send;
    receive.kind = Kind::receive;
    send.kind = Kind::send;
    receive.peer = send.peer = peer;
    send.after_end = 1;
    schedule.after.push_back(0);
    schedule.steps = {receive, send};
    return schedule;
  };
  problems_ = everybody(problem_of(Operation::barrier, 2, 0));
  schedules_ = {receive_then_send(1), receive_then_send(0)};
  expect_complaint("deadlock: rank 0 step 0 (receive of 0 bytes from rank 1) waits for the other side");
}

TEST_F(Checker, a_deadlock_by_the_order_of_posting) {
  // The first send of each rank waits for the first message of the other.
  load(Operation::all_reduce, "direct", 2, 1000);
  for (std::size_t rank : {0, 1}) {
    Schedule& schedule = schedules_[rank];
    Step& first = schedule.steps[find(rank, Kind::send)];
    const std::size_t receive = find(rank, Kind::receive);
    ASSERT_LT(receive, find(rank, Kind::send));
    first.after_begin = std::uint32_t(schedule.after.size());
    schedule.after.push_back(std::uint32_t(receive));
    first.after_end = std::uint32_t(schedule.after.size());
  }
  expect_complaint("deadlock");
}

// The checker complains about any step that loses its dependencies.
TEST_F(Checker, dependencies_dropped_one_by_one) {
  const std::pair<Operation, std::string_view> cases[] = {
      {Operation::all_gather, "ring"}, {Operation::all_reduce, "direct"}, {Operation::broadcast, "binomial"}};
  int dropped = 0;
  for (const auto& [operation, name] : cases) {
    load(operation, name, 3, 1000, true);
    const std::vector<Schedule> good = schedules_;
    for (std::size_t rank = 0; rank < good.size(); ++rank)
      for (std::size_t id = 0; id < good[rank].steps.size(); ++id) {
        const Step& one = good[rank].steps[id];
        if (one.after_begin == one.after_end) continue;
        schedules_ = good;
        schedules_[rank].steps[id].after_begin = one.after_end;
        ++dropped;
        EXPECT_NE(complaint(), "nothing") << "rank " << rank << " step " << id;
      }
  }
  EXPECT_GT(dropped, 30);
}

}  // namespace
}  // namespace railweave::collectives
