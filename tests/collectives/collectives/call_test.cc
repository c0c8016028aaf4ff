#include "collectives/group/call.h"

#include <gtest/gtest.h>

namespace railweave::collectives_test {
namespace {

using collectives::Call;
using collectives::Operation;

TEST(Call, wants_short_chunks__only_if_urgent_and_2_MiB_at_most) {
  Call call;
  call.problem.operation = Operation::all_gather;
  call.problem.ranks = 2;
  call.problem.element_bytes = 4;
  call.problem.counts = {256 * KiB, 256 * KiB};
  EXPECT_FALSE(call.wants_short_chunks());
  call.hints.priority = Priority::urgent;
  EXPECT_TRUE(call.wants_short_chunks());
  call.problem.counts = {256 * KiB, 256 * KiB + 1};
  EXPECT_FALSE(call.wants_short_chunks());
  call.problem.operation = Operation::all_to_all;
  call.problem.counts = call.problem.receive_counts = {1, 1};
  EXPECT_FALSE(call.wants_short_chunks()) << "another rank may send more";
}

}  // namespace
}  // namespace railweave::collectives_test
