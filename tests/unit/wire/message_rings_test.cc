// The pure parts of message wires: prefixes, offers, ring credit, order of arrival, acknowledgements.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <vector>

#include "wire/message/arrived_blocks.h"
#include "wire/message/block.h"
#include "wire/message/offer.h"
#include "wire/message/ring_credit.h"
#include "wire/message/sent_blocks.h"

namespace railweave::wire::message {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> block_of(const Prefix& prefix, std::size_t behind) {
  std::vector<std::byte> bytes(kPrefixBytes + behind);
  encode(prefix, std::span(bytes).first<kPrefixBytes>());
  return bytes;
}

TEST(Block, a_prefix_is_read_as_it_was_written) {
  const Prefix prefix{7, 0xfffffffe, 100, false, true, true};
  auto decoded = decode(block_of(prefix, 100));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, prefix);
}

TEST(Block, the_bytes_of_a_prefix_are_those_of_the_page) {
  const auto bytes = block_of({0x04030201, 0x08070605, 0, true, true}, 0);
  const std::array<int, 16> expected{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 3, 0, 0, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << i;
}

TEST(Block, malformed_blocks_are_refused_by_name) {
  EXPECT_EQ(decode(std::vector<std::byte>(15)).status().message(), "malformed block: 15 bytes, expected at least 16");
  EXPECT_EQ(decode(block_of({0, 0, 101, false, false}, 100)).status().message(),
            "malformed block: 101 bytes of the stream in a block of 116");
  auto flags = block_of({}, 0);
  flags[12] = std::byte{8};
  EXPECT_EQ(decode(flags).status().message(), "malformed block: flags 0x8, expected bits 0 to 2 only");
}

TEST(ChannelOffers, an_offer_is_read_as_it_was_written) {
  const ChannelOffer offer{{16 * KiB, 64}, std::vector<std::byte>(kAddressBytesMax, std::byte{5})};
  const auto bytes = encode(offer);
  EXPECT_EQ(bytes.size(), 140u);
  auto decoded = decode_offer(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, offer);
}

TEST(ChannelOffers, offers_out_of_bounds_are_refused_by_name) {
  const auto why = [](ChannelShape shape) { return decode_offer(encode(ChannelOffer{shape, {}})).status().message(); };
  EXPECT_EQ(why({0, 64}), "malformed offer: slot size 0, expected 1024 to 1048576");
  EXPECT_EQ(why({2 * MiB, 64}), "malformed offer: slot size 2097152, expected 1024 to 1048576");
  EXPECT_EQ(why({4096, 7}), "malformed offer: number of slots 7, expected 8 to 4096");
  EXPECT_EQ(why({4096, 4097}), "malformed offer: number of slots 4097, expected 8 to 4096");
  EXPECT_EQ(decode_offer(std::vector<std::byte>(11)).status().message(),
            "malformed offer: 11 bytes, expected 12 to 140");
  EXPECT_EQ(decode_offer(std::vector<std::byte>(141)).status().message(),
            "malformed offer: 141 bytes, expected 12 to 140");
  auto version = encode(ChannelOffer{{4096, 64}, {}});
  version[0] = std::byte{2};
  EXPECT_EQ(decode_offer(version).status().message(), "malformed offer: version 2, expected 1 to 1");
}

TEST(RingCredit, a_slot_stays_free_for_a_question_where_this_end_may_ask) {
  RingCredit credit(16, 16, true);
  for (int i = 0; i < 13; ++i) {
    ASSERT_TRUE(credit.may_send_stream()) << i;
    credit.sent();
  }
  EXPECT_FALSE(credit.may_send_stream());
  EXPECT_TRUE(credit.may_ask());
  credit.sent();
  EXPECT_FALSE(credit.may_ask());
  EXPECT_TRUE(credit.may_send_credit());
  EXPECT_FALSE(RingCredit(16, 16).may_ask());
}

TEST(RingCredit, the_last_slots_are_for_credit_alone) {
  RingCredit credit(16, 16);
  for (int i = 0; i < 14; ++i) {
    ASSERT_TRUE(credit.may_send_stream()) << i;
    credit.sent();
  }
  EXPECT_FALSE(credit.may_send_stream());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(credit.may_send_credit());
    credit.sent();
  }
  EXPECT_FALSE(credit.may_send_credit());
  EXPECT_TRUE(credit.peer_says(1).ok());
  EXPECT_TRUE(credit.may_send_credit());
  EXPECT_FALSE(credit.may_send_stream());
  EXPECT_TRUE(credit.peer_says(3).ok());
  EXPECT_TRUE(credit.may_send_stream());
}

TEST(RingCredit, an_answer_is_owed_once_the_question_was_given_back) {
  RingCredit credit(16, 16);
  credit.gave_back(false, true);
  EXPECT_TRUE(credit.owes_answer() && credit.owes_statement(false));
  credit.sent();
  EXPECT_FALSE(credit.owes_answer() || credit.owes_statement(false));
}

TEST(RingCredit, an_older_statement_changes_nothing) {
  RingCredit credit(16, 16);
  for (int i = 0; i < 5; ++i) credit.sent();
  EXPECT_TRUE(credit.peer_says(4).ok());
  EXPECT_TRUE(credit.peer_says(2).ok());
  EXPECT_EQ(credit.returned_by_peer(), 4u);
}

TEST(RingCredit, more_slots_than_were_used_cannot_come_back) {
  RingCredit credit(16, 16);
  for (int i = 0; i < 5; ++i) credit.sent();
  EXPECT_EQ(credit.peer_says(6).message(), "malformed block: 6 more slots given back, expected at most 5");
  EXPECT_EQ(credit.returned_by_peer(), 0u);
}

TEST(RingCredit, a_statement_is_owed_for_a_quarter_of_the_slots) {
  RingCredit credit(16, 16);
  for (int i = 0; i < 3; ++i) credit.gave_back(false);
  EXPECT_FALSE(credit.owes_statement(true)) << "statements alone are not acknowledged";
  credit.gave_back(false);
  EXPECT_TRUE(credit.owes_statement(false));
  EXPECT_EQ(credit.next_returned(), 4u);
  credit.sent();
  EXPECT_FALSE(credit.owes_statement(true));
}

TEST(RingCredit, idle_ends_acknowledge_stream_at_once) {
  RingCredit credit(16, 16);
  credit.gave_back(true);
  EXPECT_FALSE(credit.owes_statement(false));
  EXPECT_TRUE(credit.owes_statement(true));
}

// Two ends that send and read at random, with all numbers near the end of their range.
TEST(RingCredit, two_ends_never_wait_for_each_other_for_ever) {
  struct Sent {
    bool has_stream;
    std::uint32_t returned;
  };
  struct End {
    RingCredit credit{8, 8};
    std::deque<Sent> arrived;
    std::uint64_t to_send = 3000, read = 0;
  };
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::array<End, 2> ends;
    const auto send = [&](int i, bool has_stream) {
      ends[1 - i].arrived.push_back({has_stream, ends[i].credit.next_returned()});
      ends[i].credit.sent();
      EXPECT_LE(ends[1 - i].arrived.size(), 8u) << "the peer has no slot";
      EXPECT_TRUE(ends[1 - i].credit.peer_says(ends[1 - i].arrived.back().returned).ok());
    };
    int still = 0;
    while (still < 100 && (ends[0].read < 3000 || ends[1].read < 3000)) {
      ++still;
      const int i = int(random() % 2);
      End& end = ends[i];
      const auto turns = random() % 12;
      for (unsigned k = 0; k < turns && end.to_send > 0 && end.credit.may_send_stream(); ++k, --end.to_send, still = 0)
        send(i, true);
      for (auto k = random() % 12; k > 0 && !end.arrived.empty(); --k, still = 0) {
        end.credit.gave_back(end.arrived.front().has_stream);
        end.read += end.arrived.front().has_stream;
        end.arrived.pop_front();
      }
      if (end.credit.owes_statement(end.arrived.empty()) && end.credit.may_send_credit()) send(i, false), still = 0;
    }
    EXPECT_EQ(ends[0].read + ends[1].read, 6000u) << "stuck with seed " << seed;
  }
}

TEST(ArrivedBlocks, blocks_are_read_in_the_order_of_their_numbers) {
  ArrivedBlocks arrived(8);
  for (const std::uint32_t number : {2u, 0u, 1u})
    EXPECT_TRUE(arrived.add({number + 10, {number, 0, 0, false, false}}).ok());
  for (const std::uint32_t number : {0u, 1u, 2u}) {
    ASSERT_TRUE(arrived.next());
    EXPECT_EQ(arrived.next()->slot, number + 10);
    arrived.pop();
  }
  EXPECT_FALSE(arrived.next());
}

TEST(ArrivedBlocks, impossible_numbers_are_refused_by_name) {
  ArrivedBlocks arrived(8);
  EXPECT_TRUE(arrived.add({0, {0, 0, 0, false, false}}).ok());
  EXPECT_EQ(arrived.add({1, {0, 0, 0, false, false}}).message(), "malformed block: number 0 arrived twice");
  EXPECT_EQ(arrived.add({1, {8, 0, 0, false, false}}).message(),
            "malformed block: number 8, expected 0 or one of the 7 after it");
  arrived.pop();
  EXPECT_EQ(arrived.add({1, {0, 0, 0, false, false}}).message(),
            "malformed block: number 0, expected 1 or one of the 7 after it");
}

TEST(SentBlocks, frames_are_released_once_their_block_left_or_came_back) {
  SentBlocks sent(8);
  const TimePoint t{};
  sent.sent(t, 2, 200);
  sent.sent(t, 0, 300);
  sent.sent(t, 3, 500);
  EXPECT_FALSE(sent.has_releasable(0));
  EXPECT_TRUE(sent.has_releasable(1));
  EXPECT_EQ(sent.release(1), 2u);
  sent.returned(t + 5us, 3);
  EXPECT_TRUE(sent.has_releasable(1)) << "given back, so it left";
  EXPECT_EQ(sent.release(1), 3u);
  EXPECT_EQ(sent.release(3), 0u);
}

TEST(SentBlocks, the_oldest_that_is_not_given_back_is_known) {
  SentBlocks sent(8);
  const TimePoint t{};
  EXPECT_EQ(sent.unreturned_since(), TimePoint::max());
  for (int i = 0; i < 8; ++i) sent.sent(t + i * 1us, 0, 0);
  EXPECT_EQ(sent.unreturned_since(), t);
  sent.returned(t + 9us, 7);
  EXPECT_EQ(sent.unreturned_since(), t + 7us);
  sent.returned(t + 9us, 8);
  EXPECT_EQ(sent.unreturned_since(), TimePoint::max());
}

TEST(SentBlocks, acknowledged_is_what_the_peer_gave_back) {
  SentBlocks sent(8);
  const TimePoint t{};
  for (std::uint64_t i = 0; i < 8; ++i) sent.sent(t, 1, 100 * (i + 1));
  EXPECT_EQ(sent.acknowledged_bytes(), 0u);
  EXPECT_EQ(sent.min_rtt(), 0ns);
  sent.returned(t + 8us, 3);
  EXPECT_EQ(sent.acknowledged_bytes(), 300u);
  EXPECT_EQ(sent.min_rtt(), 8us);
  sent.sent(t + 9us, 1, 900);
  sent.returned(t + 10us, 9);
  EXPECT_EQ(sent.acknowledged_bytes(), 900u);
  EXPECT_EQ(sent.min_rtt(), 1us);
  EXPECT_EQ(sent.smoothed_rtt(), 7125ns);
}

}  // namespace
}  // namespace railweave::wire::message
