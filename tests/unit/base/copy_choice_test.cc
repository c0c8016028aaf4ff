#include "base/copy_choice.h"

#include <gtest/gtest.h>

namespace railweave {
namespace {

// Copies `pieces` pieces of 64 KiB, each in the way that `choice` wants. Returns how many were fetched.
int run(CopyChoice& choice, int pieces, double inline_ns_per_byte, double fetch_ns_per_byte) {
  int fetched = 0;
  for (int i = 0; i < pieces; ++i) {
    const bool fetch = choice.wants_fetch();
    fetched += fetch;
    choice.sample(fetch, 64 * KiB, Nanos(std::int64_t(64 * KiB * (fetch ? fetch_ns_per_byte : inline_ns_per_byte))));
  }
  return fetched;
}

// The dearer way is tried once at the beginning, and again after 4, 8, 16 and 32 MiB more of the 62 MiB.
TEST(CopyChoice, wants_fetch__is_the_cheaper_way_after_each_was_tried_once) {
  CopyChoice slow_copies, slow_fetch;
  EXPECT_EQ(run(slow_copies, 1000, 0.5, 0.15), 995);
  EXPECT_EQ(run(slow_fetch, 1000, 0.08, 0.15), 5);
}

TEST(CopyChoice, sample__of_memory_that_nobody_had_touched_is_soon_made_good) {
  CopyChoice choice;
  choice.sample(false, 64 * KiB, Nanos(64 * KiB * 2));
  EXPECT_LT(run(choice, 1000, 0.08, 0.15), 100);
}

TEST(CopyChoice, wants_fetch__counts_the_cheaper_of_the_two_copies_half) {
  CopyChoice unheard, slow_writer, fast_writer;
  EXPECT_GT(run(unheard, 100, 0.1, 0.14), 95);
  slow_writer.set_writer_cost(0.3);
  EXPECT_GT(run(slow_writer, 100, 0.1, 0.3), 95);
  fast_writer.set_writer_cost(0.01);
  EXPECT_LT(run(fast_writer, 100, 0.1, 0.14), 5);
}

TEST(CopyChoice, sample__a_machine_that_changes_is_noticed) {
  CopyChoice choice;
  EXPECT_LT(run(choice, 1000, 0.08, 0.15), 10);
  EXPECT_GT(run(choice, 1000, 0.5, 0.15), 900);
  EXPECT_LT(run(choice, 10'000, 0.08, 0.15), 2500) << "copying is tried again after 128 MiB";
}

TEST(CopyChoice, sample__one_preempted_copy_changes_nothing) {
  CopyChoice choice;
  run(choice, 100, 0.08, 0.3);
  choice.sample(false, 64 * KiB, std::chrono::milliseconds(10));
  EXPECT_FALSE(choice.wants_fetch());
}

TEST(CopyChoice, sample__small_pieces_teach_nothing) {
  CopyChoice choice;
  choice.sample(false, 100, std::chrono::microseconds(1));
  EXPECT_FALSE(choice.wants_fetch());
}

}  // namespace
}  // namespace railweave
