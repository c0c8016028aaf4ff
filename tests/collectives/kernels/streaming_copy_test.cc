#include "collectives/kernels/streaming_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace railweave::collectives {
namespace {

TEST(StreamingCopy, copies__exactly_so_many_bytes_whatever_the_alignment) {
  std::vector<unsigned char> from(1024), to(1024);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(1 + i % 251);
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 127, 128, 200, 700})
    for (std::size_t offset = 0; offset < 70; ++offset) {
      std::ranges::fill(to, 0);
      streaming_copy(to.data() + offset, from.data() + offset / 2, bytes);
      const auto begin = to.begin() + std::ptrdiff_t(offset), end = begin + std::ptrdiff_t(bytes);
      ASSERT_TRUE(std::equal(begin, end, from.begin() + std::ptrdiff_t(offset / 2))) << offset << " " << bytes;
      ASSERT_EQ(std::count(to.begin(), begin, 0) + std::count(end, to.end(), 0), std::ptrdiff_t(to.size() - bytes));
    }
}

}  // namespace
}  // namespace railweave::collectives
