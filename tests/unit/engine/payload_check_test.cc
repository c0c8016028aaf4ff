#include "engine/session/payload_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/crc32c.h"
#include "protocol/frame.h"

namespace railweave::engine {
namespace {

using Verdict = PayloadCheck::Verdict;

class PayloadCheckTest : public testing::Test {
 protected:
  std::vector<std::byte> sent_ = std::vector<std::byte>(1000, std::byte{7}), place_ = std::vector<std::byte>(1000);
  PayloadCheck check_;

  wire::Target expect(bool read_while_landing) { return check_.expect(crc32c(sent_), {place_, read_while_landing}); }
  void arrives(const wire::Target& target, bool altered = false) {
    ASSERT_EQ(target.where.size(), sent_.size());
    std::ranges::copy(sent_, target.where.begin());
    if (altered) target.where[500] ^= std::byte{1};
  }
  bool untouched() const {
    return std::ranges::all_of(place_, [](std::byte b) { return b == std::byte{0}; });
  }
};

TEST_F(PayloadCheckTest, a_payload_without_a_checksum_is_left_as_it_is) {
  const wire::Target target = check_.expect({}, {place_, true});
  EXPECT_EQ(target.where.data(), place_.data());
  EXPECT_TRUE(target.read_while_landing);
  arrives(target);
  EXPECT_EQ(check_.arrived(), Verdict::none);
}

TEST_F(PayloadCheckTest, a_payload_lands_in_its_place_without_concurrent_readers) {
  const wire::Target target = expect(false);
  EXPECT_EQ(target.where.data(), place_.data());
  arrives(target);
  EXPECT_EQ(check_.arrived(), Verdict::intact);
  arrives(expect(false), true);
  EXPECT_EQ(check_.arrived(), Verdict::damaged);
  EXPECT_EQ(check_.found(), crc32c(place_));
}

TEST_F(PayloadCheckTest, a_concurrent_reader_sees_no_payload_before_it_is_checked) {
  arrives(expect(true), true);
  EXPECT_EQ(check_.arrived(), Verdict::damaged);
  EXPECT_TRUE(untouched());
  const wire::Target target = expect(true);
  EXPECT_FALSE(target.read_while_landing) << "nobody reads there";
  arrives(target);
  EXPECT_TRUE(untouched());
  EXPECT_EQ(check_.arrived(), Verdict::intact);
  EXPECT_EQ(place_, sent_);
}

TEST_F(PayloadCheckTest, a_payload_whose_memory_is_withdrawn_is_thrown_away) {
  for (const bool read_while_landing : {false, true}) {
    const wire::Target target = expect(read_while_landing);
    check_.withdraw(std::span(place_).last(1));
    if (read_while_landing) arrives(target, true);  // else the lane discards the payload
    EXPECT_EQ(check_.arrived(), Verdict::none);
    EXPECT_TRUE(untouched());
  }
  const wire::Target target = expect(true);
  std::vector<std::byte> another(10);
  check_.withdraw(another);
  arrives(target);
  EXPECT_EQ(check_.arrived(), Verdict::intact);
}

TEST_F(PayloadCheckTest, a_payload_of_which_nothing_is_kept_is_not_checked) {
  const std::span<std::byte> nowhere{static_cast<std::byte*>(nullptr), 1000};
  EXPECT_EQ(check_.expect(1, {nowhere, true}).where.data(), nullptr);
  EXPECT_EQ(check_.arrived(), Verdict::none);
  (void)expect(false);
  check_.forget();
  EXPECT_EQ(check_.arrived(), Verdict::none);
}

TEST_F(PayloadCheckTest, a_payload_of_the_largest_size_has_room_apart) {
  sent_.assign(protocol::kSegmentBytesMax, std::byte{9});
  place_.assign(protocol::kSegmentBytesMax, std::byte{0});
  arrives(expect(true));
  EXPECT_EQ(check_.arrived(), Verdict::intact);
  EXPECT_EQ(place_, sent_);
}

}  // namespace
}  // namespace railweave::engine
