#include "base/spsc_ring.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace railweave {
namespace {

TEST(SpscRing, holds_exactly_its_capacity_in_order) {
  SpscRing<int> ring(4);
  int value = 0;
  EXPECT_TRUE(ring.empty());
  EXPECT_FALSE(ring.try_pop(value));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.try_push(10 * round + i));
    EXPECT_FALSE(ring.try_push(99));
    EXPECT_FALSE(ring.empty());
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(ring.try_pop(value));
      EXPECT_EQ(value, 10 * round + i);
    }
    EXPECT_TRUE(ring.empty());
  }
}

TEST(SpscRing, a_ring_of_one_holds_one) {
  SpscRing<int> ring(1);
  int value = 0;
  EXPECT_TRUE(ring.try_push(1));
  EXPECT_FALSE(ring.try_push(2));
  EXPECT_TRUE(ring.try_pop(value));
  EXPECT_EQ(value, 1);
}

TEST(SpscRing, two_threads_lose_nothing_and_see_whole_elements) {
  struct Element {
    std::uint64_t number = 0, inverse = ~std::uint64_t{0};
  };
  constexpr std::uint64_t kElements = 200'000;
  SpscRing<Element> ring(64);
  std::thread producer([&] {
    for (std::uint64_t n = 1; n <= kElements;) {
      if (ring.try_push({n, ~n}))
        ++n;
      else
        std::this_thread::yield();
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t expected = 1; expected <= kElements;) {
    Element element;
    if (!ring.try_pop(element)) {
      std::this_thread::yield();
      continue;
    }
    wrong += element.number != expected || element.inverse != ~expected;
    ++expected;
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(ring.empty());
}

}  // namespace
}  // namespace railweave
