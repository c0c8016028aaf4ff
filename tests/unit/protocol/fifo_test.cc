#include "protocol/fifo.h"

#include <gtest/gtest.h>

#include <vector>

namespace railweave::protocol {
namespace {

struct Thing {
  FifoHook<Thing> first, second;
};
using First = Fifo<Thing, &Thing::first>;
using Second = Fifo<Thing, &Thing::second>;

std::vector<Thing*> all(const First& fifo) {
  std::vector<Thing*> out;
  for (Thing* t = fifo.front(); t != nullptr; t = First::next(t)) out.push_back(t);
  return out;
}

TEST(Fifo, push__keeps_the_order_and_takes_each_once) {
  Thing a, b, c;
  First fifo;
  EXPECT_TRUE(fifo.empty());
  fifo.push(&a);
  fifo.push(&b);
  fifo.push(&a);
  fifo.push(&c);
  EXPECT_EQ(all(fifo), (std::vector{&a, &b, &c}));
}

TEST(Fifo, remove__from_front_middle_and_back) {
  Thing a, b, c, d;
  First fifo;
  for (Thing* t : {&a, &b, &c, &d}) fifo.push(t);
  fifo.remove(&b);
  EXPECT_EQ(all(fifo), (std::vector{&a, &c, &d}));
  fifo.remove(&a);
  fifo.remove(&d);
  fifo.remove(&d);
  EXPECT_EQ(all(fifo), (std::vector{&c}));
  fifo.push(&d);
  fifo.remove(&c);
  EXPECT_EQ(all(fifo), (std::vector{&d}));
  fifo.remove(&d);
  EXPECT_TRUE(fifo.empty());
}

TEST(Fifo, insert__in_front_between_and_behind) {
  Thing a, b, c, d;
  First fifo;
  fifo.insert(&b, nullptr);
  fifo.insert(&a, nullptr);
  fifo.insert(&d, &b);
  fifo.insert(&c, &b);
  EXPECT_EQ(all(fifo), (std::vector{&a, &b, &c, &d}));
  EXPECT_EQ(fifo.back(), &d);
  EXPECT_EQ(First::previous(&d), &c);
  EXPECT_EQ(First::previous(&a), nullptr);
}

TEST(Fifo, push__an_element_is_in_several_lists_at_once) {
  Thing a, b;
  First first;
  Second second;
  first.push(&a);
  first.push(&b);
  second.push(&b);
  second.push(&a);
  first.remove(&a);
  EXPECT_EQ(all(first), (std::vector{&b}));
  EXPECT_EQ(second.front(), &b);
  EXPECT_EQ(Second::next(&b), &a);
}

}  // namespace
}  // namespace railweave::protocol
