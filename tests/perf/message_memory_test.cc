#include "net_perf/message_memory.h"

#include <gtest/gtest.h>

#include <deque>

#include "net_perf/message_sizes.h"

namespace railweave::perf::net_perf {
namespace {

RingMemory ring_of(std::size_t bytes) { return RingMemory(std::move(*Pages::allocate(bytes))); }

TEST(RingMemory, equal_messages_rotate_over_slots) {
  constexpr std::size_t kSize = 5000;
  RingMemory ring = ring_of(RingMemory::bytes_for(4, kSize));
  std::byte* slots[4];
  for (auto& slot : slots) slot = ring.take(kSize);
  for (auto* slot : slots) ASSERT_NE(slot, nullptr);
  EXPECT_EQ(ring.take(kSize), nullptr);
  for (int round = 0; round < 10; ++round) {
    ring.give_back();
    EXPECT_EQ(ring.take(kSize), slots[round % 4]);
    EXPECT_EQ(ring.take(kSize), nullptr);
  }
}

TEST(RingMemory, empty_messages_have_places_too) {
  RingMemory ring = ring_of(RingMemory::bytes_for(1, 0));
  EXPECT_NE(ring.take(0), nullptr);
}

TEST(RingMemory, mixed_sizes_never_overlap_and_never_starve) {
  constexpr std::size_t kLargest = 100000;
  RingMemory ring = ring_of(RingMemory::bytes_for(1, kLargest));
  const auto region = ring.region();
  std::deque<std::span<std::byte>> taken;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const std::size_t size = mix(1, i) % (kLargest + 1);
    std::byte* place = ring.take(size);
    while (place == nullptr) {
      ASSERT_FALSE(taken.empty()) << "no room in an empty ring for " << size;
      taken.pop_front();
      ring.give_back();
      place = ring.take(size);
    }
    ASSERT_GE(place, region.data());
    ASSERT_LE(place + size, region.data() + region.size());
    for (const auto& other : taken) {
      ASSERT_TRUE(place + size <= other.data() || other.data() + other.size() <= place);
    }
    taken.push_back({place, size});
  }
}

TEST(FlatMemory, hands_out_one_place_after_the_other) {
  std::array<std::byte, 10> bytes{};
  FlatMemory memory{std::span<std::byte>(bytes)};
  EXPECT_EQ(memory.take(4), bytes.data());
  EXPECT_EQ(memory.take(6), bytes.data() + 4);
}

}  // namespace
}  // namespace railweave::perf::net_perf
