// Small operations of ranks on one host, and the shared memory that they use.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sealed_memory.h"
#include "collectives/shared_memory/contribution.h"
#include "collectives/shared_memory/offering.h"
#include "collectives/shared_memory/shm_exchange.h"
#include "collectives/shared_memory/shm_memory.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using namespace railweave::collectives;

struct TwoExchanges {
  std::vector<ShmExchange> of;
  TwoExchanges() {
    const OwnedFd fd = std::move(*make_sealed_memory(ShmExchange::memory_bytes(2)));
    for (int rank : {0, 1})
      of.emplace_back(std::move(*ShmMemory::map(fd.get(), ShmExchange::memory_bytes(2))), rank, 2);
  }
};

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = std::byte(seed * 31 + i * 7 + i / 251);
  return data;
}

TEST(ShmExchange, posted__arrives_whatever_its_size) {
  TwoExchanges two;
  std::uint64_t number = 0;
  for (const std::size_t bytes : std::vector<std::size_t>{0, 1, 39, 40, 41, 64, 4097, ShmSlot::kBytesMax}) {
    const auto data = pattern(bytes, unsigned(number));
    EXPECT_FALSE(two.of[1].is_there(0, number));
    ASSERT_TRUE(two.of[0].has_room(number));
    two.of[0].post(number, {number + 77, data});
    ASSERT_TRUE(two.of[1].is_there(0, number));
    const ShmExchange::Contribution got = two.of[1].posted(0, number);
    EXPECT_EQ(got.fingerprint, number + 77);
    EXPECT_EQ(std::vector(got.data.begin(), got.data.end()), data) << bytes;
    for (ShmExchange& exchange : two.of) exchange.done_with(number);
    ++number;
  }
}

TEST(ShmExchange, has_room__until_the_slowest_reader_is_a_round_behind) {
  TwoExchanges two;
  std::uint64_t number = 0;
  for (; number < ShmColumn::kSlots; ++number) {
    ASSERT_TRUE(two.of[0].has_room(number));
    two.of[0].post(number, {});
    two.of[0].done_with(number);
  }
  EXPECT_FALSE(two.of[0].has_room(number));
  EXPECT_EQ(two.of[0].readers_of_slot(number), std::vector<int>{1});
  two.of[1].done_with(0);
  EXPECT_TRUE(two.of[0].has_room(number));
  EXPECT_FALSE(two.of[0].has_room(number + 1));
}

TEST(ShmExchange, header__of_a_slot_written_again_is_none) {
  TwoExchanges two;
  two.of[0].post(3, {5, {}});
  EXPECT_EQ(two.of[1].header(0, 3), 5u);
  two.of[0].post(3 + ShmColumn::kSlots, {6, {}});
  EXPECT_EQ(two.of[1].header(0, 3), 0u);
}

TEST(ShmExchange, offered__stands_until_it_is_withdrawn) {
  TwoExchanges two;
  const auto data = pattern(1000, 9);
  two.of[0].post(0, {7, data, 3, true});
  two.of[0].post(1, {8, data, 3});
  const ShmExchange::Contribution found = two.of[1].posted(0, 0);
  EXPECT_TRUE(found.offered);
  EXPECT_EQ(found.data.data(), data.data());
  EXPECT_EQ(found.data.size(), data.size());
  EXPECT_TRUE(two.of[1].stands(0, 0));
  two.of[1].done_with(0);
  EXPECT_EQ(two.of[0].readers_of(0), std::vector{0});
  EXPECT_FALSE(two.of[0].read_by_all(0));
  two.of[0].done_with(0);
  EXPECT_TRUE(two.of[0].read_by_all(0));
  two.of[0].withdraw_offers();
  EXPECT_FALSE(two.of[1].stands(0, 0));
  EXPECT_FALSE(two.of[1].is_there(0, 0));
  EXPECT_TRUE(two.of[1].is_there(0, 1)) << "a copy needs its rank no more";
}

TEST(Offering, wanted__as_the_others_take_it_sooner) {
  TwoExchanges two;
  Offering offering[] = {Offering(two.of[0]), Offering(two.of[1])};
  constexpr std::size_t kPiece = 64 * KiB;
  EXPECT_FALSE(offering[0].wanted());
  offering[1].copied(0, kPiece, 10us);
  EXPECT_TRUE(offering[0].wanted()) << "rank 1 does not know yet what reading costs";
  EXPECT_FALSE(offering[1].wanted());
  offering[1].read(kPiece, 30us);
  EXPECT_FALSE(offering[0].wanted());
  offering[0].posted(kPiece, 50us);
  offering[1].copied(0, kPiece, 10us);
  EXPECT_TRUE(offering[0].wanted()) << "what rank 0's copies cost it counts, too";
}

TEST(ShmExchange, fits_exchange__is_of_what_the_longest_posts_and_of_all) {
  Call call;
  call.problem.operation = Operation::all_gather;
  call.problem.ranks = 2;
  call.problem.counts = {kPostedMax, 1};
  EXPECT_TRUE(fits_exchange(call));
  call.problem.counts = {1, kPostedMax + 1};
  EXPECT_FALSE(fits_exchange(call)) << "also where this rank posts one byte";
  call.problem.ranks = 9;
  call.problem.counts.assign(9, kPostedByAllMax / 9 + 1);
  EXPECT_FALSE(fits_exchange(call));
  call.problem.operation = Operation::all_to_all;
  call.problem.counts.assign(9, 1);
  EXPECT_FALSE(fits_exchange(call)) << "a rank does not know what the others send";
  call.problem.uniform = true;
  EXPECT_TRUE(fits_exchange(call));
}

// Leaves of a reduce wait for no rank, but may not be further ahead of their root than there are slots.
TEST(ShmQueue, leaves_that_run_ahead__overwrite_nothing) {
  Ranks ranks(3, "ahead", true);
  ranks.run([](int rank, Group& group) {
    constexpr std::size_t kMany = 200;
    std::vector<std::int64_t> values, results(kMany, -1);
    for (std::size_t k = 0; k < kMany; ++k) values.push_back(std::int64_t(k) * (rank + 1));
    std::vector<WorkPtr> works;
    for (std::size_t k = 0; k < kMany; ++k) {
      works.push_back(group.reduce(&values[k], &results[k], 1, DataType::int64, Reduction::sum, 0));
      if (rank == 0 && k % 8 == 0) std::this_thread::sleep_for(1ms);
    }
    for (const WorkPtr& work : works) ASSERT_EQ(outcome(work), "ok");
    for (std::size_t k = 0; rank == 0 && k < kMany; ++k) ASSERT_EQ(results[k], std::int64_t(6 * k));
  });
}

// The small operation uses the exchange, the large one streams: neither waits for the other.
TEST(ShmQueue, a_small_operation__passes_a_large_one_that_stands) {
  Ranks ranks(2, "passes", true);
  std::vector<float> large(1 << 20, 1), got(1 << 20);
  const WorkPtr stands = ranks.group(0).broadcast(large.data(), large.data(), large.size(), DataType::float32, 0);
  std::thread late([&] {
    int one = 1, sum = 0;
    const WorkPtr mine = ranks.group(1).broadcast(got.data(), got.data(), got.size(), DataType::float32, 0);
    EXPECT_EQ(outcome(ranks.group(1).all_reduce(&one, &sum, 1, DataType::int32, Reduction::sum)), "ok");
    EXPECT_EQ(outcome(mine), "ok");
  });
  int one = 1, sum = 0;
  EXPECT_EQ(outcome(ranks.group(0).all_reduce(&one, &sum, 1, DataType::int32, Reduction::sum)), "ok");
  EXPECT_EQ(sum, 2);
  EXPECT_EQ(outcome(stands), "ok");
  late.join();
  EXPECT_EQ(got, large);
}

// One rank's operation is small, the other's is cut into pieces.
TEST(ShmQueue, a_rank_whose_operation_is_larger_is_reported) {
  Ranks ranks(2, "larger", true);
  std::string said[2];
  ranks.run([&](int rank, Group& group) {
    std::vector<float> data(rank == 0 ? 10 : 1'000'000);
    said[rank] =
        outcome(group.all_reduce(data.data(), data.data(), data.size(), DataType::float32, Reduction::sum), 20s);
  });
  // The rank that notices first informs the other.
  for (const std::string& one : said)
    EXPECT_TRUE(one.find("rank 1 does not do the same operation as rank 0: "
                         "a contribution of 4000000 bytes where 40 were due") != std::string::npos ||
                one.find("rank 0 does not do the same operation as rank 1: "
                         "a contribution of 40 bytes where 4000000 were due") != std::string::npos)
        << one;
}

// A rank that is done once it has posted does not wait. So the rank with the larger operation must notice.
TEST(ShmQueue, an_operation_over_streams_against_a_posting_is_reported) {
  const auto broadcast = [](Group& group, float* data, std::size_t count) {
    return group.broadcast(data, data, count, DataType::float32, 0);
  };
  const auto reduce = [](Group& group, float* data, std::size_t count) {
    return group.reduce(data, data + count, count, DataType::float32, Reduction::sum, 0);
  };
  using Call = std::function<WorkPtr(Group&, float*, std::size_t)>;
  for (const auto& [call, small] : {std::pair<Call, int>{broadcast, 0}, {reduce, 1}}) {
    Ranks ranks(2, "streams", true);
    std::string said[2];
    ranks.run([&, &call = call, small = small](int rank, Group& group) {
      std::vector<float> data(2'000'000);
      said[rank] = outcome(call(group, data.data(), rank == small ? 10 : 1'000'000), 20s);
    });
    EXPECT_NE(said[1 - small].find("does not do the same operation as rank "), std::string::npos) << said[1 - small];
    EXPECT_NE(said[1 - small].find(" bytes to the shm exchange, not "), std::string::npos) << said[1 - small];
  }
}

TEST(ShmQueue, equal_bytes_of_other_counts_are_reported) {
  Ranks ranks(2, "counts", true);
  std::string said[2];
  ranks.run([&](int rank, Group& group) {
    const std::size_t counts[2][2] = {{1, 3}, {3, 1}};
    float data[4] = {}, out[4] = {};
    said[rank] = outcome(group.reduce_scatter_v(data, out, counts[rank], DataType::float32, Reduction::sum), 20s);
  });
  for (const std::string& one : said) EXPECT_NE(one.find("other counts"), std::string::npos) << one;
}

TEST(ShmOffer, give__does_not_wait_for_ever_for_who_does_not_come) {
  auto offer = ShmOffer::make(4096);
  ASSERT_TRUE(offer.ok());
  EXPECT_EQ(offer->give(1, 50ms).code(), Code::timed_out);
}

TEST(ShmOffer, take__of_what_is_not_offered_or_not_so_large) {
  EXPECT_FALSE(take_shm_memory("", 4096, 1s).ok());
  EXPECT_FALSE(take_shm_memory("railweave-exchange-of-nobody", 4096, 1s).ok());
  auto offer = ShmOffer::make(4096);
  ASSERT_TRUE(offer.ok());
  std::thread gives([&] { EXPECT_TRUE(offer->give(1, 5s).ok()); });
  const auto taken = take_shm_memory(offer->name(), 8192, 5s);
  gives.join();
  EXPECT_EQ(taken.status().code(), Code::remote) << taken.status().message();
}

TEST(ShmQueue, a_short_wait__is_short) {
  Ranks ranks(2, "short", true);
  int one = 1, sum = 0;
  const WorkPtr work = ranks.group(0).all_reduce(&one, &sum, 1, DataType::int32, Reduction::sum);
  EXPECT_EQ(work->wait(0s).code(), Code::timed_out);
  EXPECT_EQ(work->wait(2ms).code(), Code::timed_out);
  EXPECT_FALSE(work->test());
  int other = 0;
  EXPECT_EQ(outcome(ranks.group(1).all_reduce(&one, &other, 1, DataType::int32, Reduction::sum)), "ok");
  EXPECT_EQ(outcome(work), "ok");
}

TEST(ShmQueue, a_rank_that_leaves__is_named_to_who_waits_for_it) {
  Ranks ranks(3, "leaves", true);
  ranks.run([&](int rank, Group& group) {
    if (rank == 2) return;
    int one = 1, sum = 0;
    const WorkPtr work = group.all_reduce(&one, &sum, 1, DataType::int32, Reduction::sum);
    if (rank == 0) {
      std::this_thread::sleep_for(100ms);
      ranks.leave(2);
    }
    const std::string said = outcome(work, 10s);
    EXPECT_NE(said.find("rank 2 is lost"), std::string::npos) << "rank " << rank << ": " << said;
  });
}

TEST(ShmQueue, what_was_posted__is_read_though_its_rank_left) {
  Ranks ranks(2, "left", true);
  int one = 1, sum = 0, other_sum = 0;
  const WorkPtr early = ranks.group(1).all_reduce(&one, &other_sum, 1, DataType::int32, Reduction::sum);
  std::thread reads(
      [&] { EXPECT_EQ(outcome(ranks.group(0).all_reduce(&one, &sum, 1, DataType::int32, Reduction::sum)), "ok"); });
  EXPECT_EQ(outcome(early), "ok");
  ranks.leave(1);
  reads.join();
  EXPECT_EQ(sum, 2);
}

// A named algorithm is a schedule, and so runs over streams. If the ranks chose differently, they would wait for each
// other.
TEST(ShmQueue, a_named_algorithm__is_what_runs) {
  ::setenv("RAILWEAVE_ALGO", "all_reduce=ring", 1);
  Ranks ranks(2, "named", true);
  ::unsetenv("RAILWEAVE_ALGO");
  ranks.run([](int, Group& group) {
    for (int k = 0; k < 50; ++k) {
      int one = 1, sum = 0;
      ASSERT_EQ(outcome(group.all_reduce(&one, &sum, 1, DataType::int32, Reduction::sum)), "ok");
      ASSERT_EQ(sum, 2);
      ASSERT_EQ(outcome(group.barrier()), "ok");
    }
  });
}

}  // namespace
}  // namespace railweave::collectives_test
