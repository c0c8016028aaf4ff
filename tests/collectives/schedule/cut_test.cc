#include "collectives/schedule/cut.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace railweave::collectives {
namespace {

Problem of(std::size_t element_bytes, std::size_t chunk_bytes = 256 * 1024) {
  Problem problem;
  problem.element_bytes = element_bytes;
  problem.chunk_bytes = chunk_bytes;
  return problem;
}

TEST(Cut, chunks__cover_the_run_and_start_at_whole_lines) {
  for (const std::size_t element_bytes : {1, 2, 4, 8, 16, 12})
    for (const std::size_t first : {0, 1, 77})
      for (const std::size_t count : {0, 1, 31, 32, 33, 1000, 99'999})
        for (const std::size_t chunk_bytes : {1, 128, 1000, 65'536}) {
          const Chunks chunks(of(element_bytes, chunk_bytes), {first, count});
          std::size_t at = first;
          for (std::size_t k = 0; k < chunks.size(); ++k) {
            const Range chunk = chunks[k];
            ASSERT_EQ(chunk.first, at);
            ASSERT_GT(chunk.count, 0u);
            ASSERT_LE(chunk.count, chunks.longest());
            if (k > 0 && 128 % element_bytes == 0) {
              ASSERT_EQ(at * element_bytes % 128, 0u);
            }
            at = chunk.end();
          }
          ASSERT_EQ(at, first + count);
          EXPECT_EQ(chunks[chunks.size()].count, 0u);
        }
}

TEST(Cut, chunks__one_if_it_fits_and_about_as_long_as_wanted) {
  EXPECT_EQ(Chunks(of(4), {5, 65'536}).size(), 1u);
  EXPECT_EQ(Chunks(of(4), {0, 65'537}).size(), 2u);
  const Chunks chunks(of(4), {0, 16 * 1024 * 1024 + 17});
  EXPECT_EQ(chunks.size(), 257u);
  EXPECT_LE(chunks.longest() * 4, 256u * 1024 + 128);
}

TEST(Cut, layout__even_shards_differ_by_a_line_at_most) {
  for (const std::size_t count : {0, 1, 31, 33, 1000, 123'457})
    for (const int shards : {1, 2, 3, 7, 64}) {
      const Layout layout = Layout::even(of(4), count, shards);
      std::size_t at = 0, least = SIZE_MAX, most = 0;
      for (int i = 0; i < shards; ++i) {
        ASSERT_EQ(layout[i].first, at);
        at = layout[i].end();
        least = std::min(least, layout[i].count);
        most = std::max(most, layout[i].count);
      }
      ASSERT_EQ(at, count);
      EXPECT_LE(most - least, 2 * 32u);
      EXPECT_EQ(layout.all().count, count);
    }
}

TEST(Cut, layout__of_counts) {
  const Layout layout = Layout::of_counts({3, 0, 5});
  EXPECT_EQ(layout[1].first, 3u);
  EXPECT_EQ(layout[1].count, 0u);
  EXPECT_EQ(layout[2].first, 3u);
  EXPECT_EQ(layout.between(1, 3).count, 5u);
}

}  // namespace
}  // namespace railweave::collectives
