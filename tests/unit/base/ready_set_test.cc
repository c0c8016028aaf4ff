#include "base/ready_set.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace railweave {
namespace {

struct Item {
  ReadyNode node;  // first member, so that item_of() can cast a node to its Item
  std::atomic<std::uint64_t> posted{0};
  std::uint64_t plain = 0;  // written by one producer before add(), read by the consumer after release()
  std::uint64_t seen = 0;
};
Item& item_of(ReadyNode& node) { return reinterpret_cast<Item&>(node); }

TEST(ReadySet, elements_are_added_once_and_handed_out_in_order) {
  ReadySet set;
  std::array<Item, 3> items;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.take_all(), nullptr);
  for (Item& item : items) EXPECT_TRUE(set.add(item.node));
  EXPECT_FALSE(set.add(items[1].node));
  EXPECT_FALSE(set.empty());
  ReadyNode* node = set.take_all();
  EXPECT_TRUE(set.empty());
  for (Item& item : items) {
    ASSERT_EQ(node, &item.node);
    EXPECT_FALSE(set.add(item.node)) << "still in until released";
    node = ReadySet::release(*node);
    EXPECT_FALSE(item.node.in_set);
  }
  EXPECT_EQ(node, nullptr);
}

TEST(ReadySet, release__an_element_may_be_added_again_during_the_walk) {
  ReadySet set;
  Item a, b;
  set.add(a.node);
  set.add(b.node);
  ReadyNode* next = ReadySet::release(*set.take_all());
  EXPECT_TRUE(set.add(a.node));
  ASSERT_EQ(next, &b.node);
  EXPECT_EQ(ReadySet::release(*next), nullptr);
  EXPECT_EQ(set.take_all(), &a.node);
}

// Producers add work to shared items. A consumer that reads only the items that the set hands out must see all the
// work.
TEST(ReadySet, many_producers_lose_nothing) {
  constexpr int kProducers = 3;
  constexpr std::uint64_t kPosts = 20'000;
  ReadySet set;
  std::array<Item, 5> items;
  std::atomic<int> running{kProducers};
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (std::uint64_t i = 0; i < kPosts; ++i) {
        Item& item = items[(i * 7 + static_cast<std::uint64_t>(p)) % items.size()];
        item.posted.fetch_add(1, std::memory_order_relaxed);
        set.add(item.node);
      }
      running.fetch_sub(1);
    });
  }
  for (bool last = false; !last;) {
    last = running.load() == 0;
    for (ReadyNode* n = set.take_all(); n;) {
      Item& item = item_of(*n);
      n = ReadySet::release(*n);
      item.seen = item.posted.load(std::memory_order_relaxed);
    }
    if (set.empty()) std::this_thread::yield();
  }
  for (std::thread& producer : producers) producer.join();
  std::uint64_t seen = 0;
  for (const Item& item : items) {
    EXPECT_EQ(item.seen, item.posted);
    seen += item.seen;
  }
  EXPECT_EQ(seen, kProducers * kPosts);
}

// The consumer may read plain memory that the producer wrote before add(), whatever add() returned (tsan checks this).
TEST(ReadySet, what_was_written_before_add_is_seen_after_release) {
  constexpr std::uint64_t kRounds = 20'000;
  ReadySet set;
  Item item;
  std::atomic<std::uint64_t> consumed{0};
  std::thread producer([&] {
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
      item.plain = i;
      set.add(item.node);
      while (consumed.load(std::memory_order_acquire) < i) std::this_thread::yield();
    }
  });
  for (std::uint64_t expected = 1; expected <= kRounds; ++expected) {
    ReadyNode* node = nullptr;
    while (!(node = set.take_all())) std::this_thread::yield();
    ReadySet::release(*node);
    ASSERT_EQ(item.plain, expected);
    consumed.store(expected, std::memory_order_release);
  }
  producer.join();
}

// ready_set.h promises: a thread that does not get the claim may leave, for the claim's holder handles the added node.
TEST(ReadySet, a_handover_of_the_claim_loses_nothing) {
  constexpr int kThreads = 3;
  constexpr std::uint64_t kPosts = 20'000;
  ReadySet set;
  std::array<Item, kThreads> items;
  std::atomic<bool> claimed{false};
  const auto progress = [&] {
    while (!set.empty() && !claimed.exchange(true, std::memory_order_seq_cst)) {
      for (ReadyNode* n = set.take_all(); n;) {
        Item& item = item_of(*n);
        n = ReadySet::release(*n);
        item.seen = item.posted.load(std::memory_order_relaxed);
      }
      claimed.store(false, std::memory_order_seq_cst);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kPosts; ++i) {
        Item& item = items[static_cast<std::size_t>(t)];
        item.posted.fetch_add(1, std::memory_order_relaxed);
        if (set.add(item.node)) progress();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(set.empty());
  for (const Item& item : items) EXPECT_EQ(item.seen, kPosts);
}

}  // namespace
}  // namespace railweave
