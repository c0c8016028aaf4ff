#include "base/slot_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace railweave {
namespace {

struct Slot {
  std::atomic<int> uses{0};  // not copyable: slots never move
};

TEST(SlotPool, take__hands_out_each_object_once_and_then_none) {
  SlotPool<Slot> pool(3);
  std::set<Slot*> taken;
  for (std::size_t i = 0; i < 3; ++i) {
    Slot* const slot = pool.take();
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(pool.index_of(slot), i);
    EXPECT_EQ(&pool.at(i), slot);
    taken.insert(slot);
  }
  EXPECT_EQ(taken.size(), 3u);
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.taken(), 3u);
}

TEST(SlotPool, take__reuses_the_last_one_given_back_with_its_state) {
  SlotPool<Slot> pool(4);
  Slot* const a = pool.take();
  Slot* const b = pool.take();
  a->uses = 7;
  pool.give_back(b);
  pool.give_back(a);
  EXPECT_EQ(pool.taken(), 0u);
  EXPECT_EQ(pool.take(), a);
  EXPECT_EQ(a->uses, 7);
  EXPECT_EQ(pool.take(), b);
}

TEST(SlotPool, owns__its_own_slots_alone) {
  SlotPool<Slot> pool(1);
  Slot stranger;
  EXPECT_TRUE(pool.owns(pool.take()));
  EXPECT_FALSE(pool.owns(&stranger));
}

}  // namespace
}  // namespace railweave
