#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace railweave {
namespace {

TEST(RandomId, NeverTheSameTwice) {
  std::set<std::array<std::uint8_t, 16>> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(random_id());
  EXPECT_EQ(ids.size(), 1000u);
}

}  // namespace
}  // namespace railweave
