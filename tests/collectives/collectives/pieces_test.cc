// Large operations of ranks on one host: cut into pieces, and read where they lie.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/sealed_memory.h"
#include "collectives/group/operation_work.h"
#include "collectives/shared_memory/neighbours.h"
#include "collectives/shared_memory/pieces.h"
#include "collectives/shared_memory/shm_memory.h"
#include "collectives/shared_memory/shm_queue.h"
#include "ranks.h"
#include "tests/sanitizers.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using namespace railweave::collectives;

Call call_of(Operation operation, int ranks, std::vector<std::size_t> counts, std::size_t element_bytes = 1) {
  Call call;
  call.problem.operation = operation;
  call.problem.ranks = ranks;
  call.problem.counts = std::move(counts);
  call.problem.element_bytes = element_bytes;
  return call;
}

TEST(Pieces, pieces__cover_what_the_longest_posts) {
  EXPECT_EQ(pieces(call_of(Operation::all_reduce, 2, {kPostedMax})), 1u);
  EXPECT_EQ(pieces(call_of(Operation::all_reduce, 2, {kPostedMax + 1})), 2u);
  EXPECT_EQ(pieces(call_of(Operation::all_reduce, 4, {kPostedMax}, 16)), 16u);
  EXPECT_EQ(pieces(call_of(Operation::all_reduce, kPiecesRanksMax + 1, {kPostedMax + 1})), 0u);
  EXPECT_EQ(pieces(call_of(Operation::all_gather, 3, {5, 3 * kPostedMax, 0})), 3u);
  EXPECT_EQ(pieces(call_of(Operation::reduce_scatter, 2, {kPostedMax, kPostedMax})), 0u);
  const Call call = call_of(Operation::all_gather, 2, {10, 2 * kPostedMax + 3});
  std::size_t due[2] = {};
  for (std::size_t k = 0; k < pieces(call); ++k)
    for (int r : {0, 1}) due[r] += due_bytes(call.problem, r, piece(call, k));
  EXPECT_EQ(due[0], 10u);
  EXPECT_EQ(due[1], 2 * kPostedMax + 3);
}

float value(int rank, std::size_t i) { return float((i * 7 + i / 4096) % 1021) * float(rank + 1); }

// Out of place, in place, and mixed.
TEST(Pieces, all_reduce__the_sum_everywhere) {
  const std::vector<int> sizes = kTsan ? std::vector{3} : std::vector{2, 3, 4};  // a size takes ten seconds under tsan
  for (const int size : sizes) {
    Ranks ranks(size, "pieces", true);
    for (const std::size_t count :
         {std::size_t(20'001), std::size_t(131'072), std::size_t(300'007), std::size_t(2'100'001)})
      for (int in_place = 0; in_place < 3; ++in_place)  // no rank, every rank, the odd ranks
        ranks.run([&](int rank, Group& group) {
          std::vector<float> in(count), out(count, -1);
          for (std::size_t i = 0; i < count; ++i) in[i] = value(rank, i);
          float* const to = in_place == 1 || (in_place == 2 && rank % 2 == 1) ? in.data() : out.data();
          ASSERT_EQ(outcome(group.all_reduce(in.data(), to, count, DataType::float32, Reduction::sum)), "ok");
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < count; ++i) wrong += to[i] != value(size * (size + 1) / 2 - 1, i);
          EXPECT_EQ(wrong, 0u) << size << " ranks, " << count << " elements, in place: " << in_place;
        });
  }
}

TEST(Pieces, all_gather_v__everything_in_rank_order) {
  const std::vector<std::vector<std::size_t>> all_counts = {
      {70'001, 3, 0}, {0, 400'000, 65'536}, {1, 2'500'000, 1'300'000}};
  Ranks ranks(3, "gathered", true);
  for (const auto& counts : all_counts)
    for (int placed = 0; placed < 3; ++placed)  // out of place, in place, the odd ranks in place
      ranks.run([&](int rank, Group& group) {
        const bool in_place = placed == 1 || (placed == 2 && rank % 2 == 1);
        const auto own = counts.begin() + rank;
        const std::size_t before = std::accumulate(counts.begin(), own, std::size_t{0});
        std::vector<float> in(*own), out(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), -1);
        float* const from = in_place ? out.data() + before : in.data();
        for (std::size_t i = 0; i < *own; ++i) from[i] = value(rank, i);
        ASSERT_EQ(outcome(group.all_gather_v(from, out.data(), counts, DataType::float32)), "ok");
        std::size_t wrong = 0, at = 0;
        for (std::size_t r = 0; r < counts.size(); ++r)
          for (std::size_t i = 0; i < counts[r]; ++i) wrong += out[at++] != value(int(r), i);
        EXPECT_EQ(wrong, 0u) << "rank " << rank << ", in place: " << in_place;
      });
}

// Offered data must stay until all ranks have read it: after each operation its input is overwritten.
TEST(Pieces, inputs__may_be_written_again_at_once) {
  Ranks ranks(3, "again", true);
  ranks.run([](int rank, Group& group) {
    constexpr std::size_t kCount = 100'000;
    std::vector<std::int32_t> in(kCount), sums(kCount), all(3 * kCount);
    for (int k = 0; k < 40; ++k) {
      std::ranges::fill(in, k * (rank + 1));
      if (rank == k % 3) std::this_thread::sleep_for(1ms);
      ASSERT_EQ(outcome(group.all_gather(in.data(), all.data(), kCount, DataType::int32)), "ok");
      std::ranges::fill(in, k);
      for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], k * int(i / kCount + 1)) << i;
      ASSERT_EQ(outcome(group.all_reduce(in.data(), sums.data(), kCount, DataType::int32, Reduction::sum)), "ok");
      std::ranges::fill(in, -1);
      ASSERT_EQ(std::ranges::count(sums, 3 * k), std::ptrdiff_t(kCount)) << k;
    }
  });
}

TEST(Neighbours, readable__only_what_the_kernel_would_read) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::vector<std::byte> mapped(kBytes);
  EXPECT_TRUE(Neighbours::readable(mapped));
  EXPECT_TRUE(Neighbours::readable({}));
  void* const closed = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(closed, MAP_FAILED);
  EXPECT_FALSE(Neighbours::readable({static_cast<std::byte*>(closed), kBytes}));
  ::munmap(closed, kBytes);
}

TEST(Neighbours, prove__finds_who_is_not_who_he_says) {
  const auto secret = random_id();
  const NeighbourProof own{::getpid(), reinterpret_cast<std::uint64_t>(secret.data()), secret};
  NeighbourProof other = own;
  EXPECT_TRUE(Neighbours::prove(std::vector{own, other}, 0).ok());
  other.secret[3] ^= 1;
  EXPECT_NE(Neighbours::prove(std::vector{own, other}, 0).status().message().find("is not rank 1"), std::string::npos);
  other.address = 8;
  EXPECT_EQ(Neighbours::prove(std::vector{own, other}, 0).status().code(), Code::system);
  other.pid = 0x7fff'fffe;
  EXPECT_NE(Neighbours::prove(std::vector{own, other}, 0).status().message().find("pidfd_open of rank 1"),
            std::string::npos);
}

TEST(Pieces, a_rank_that_leaves__is_named_to_who_waits_for_its_posting) {
  Ranks ranks(3, "leaves", true);
  ranks.run([&](int rank, Group& group) {
    if (rank == 2) return;
    std::vector<float> in(200'000, 1), out(in.size());
    const WorkPtr work = group.all_reduce(in.data(), out.data(), in.size(), DataType::float32, Reduction::sum);
    if (rank == 0) {
      std::this_thread::sleep_for(100ms);
      ranks.leave(2);
    }
    const std::string said = outcome(work, 10s);
    EXPECT_NE(said.find("rank 2 is lost"), std::string::npos) << "rank " << rank << ": " << said;
  });
}

constexpr std::size_t kAllSlots = ShmColumn::kSlots * kPostedMax / sizeof(float);  // elements that fill all slots

// Both ranks' queues of one exchange, in this process and without a group.
struct TwoQueues {
  std::vector<std::unique_ptr<ShmQueue>> queues;
  ShmQueue::Callbacks callbacks;
  std::shared_ptr<const WorkOrigin> origin = std::make_shared<WorkOrigin>();

  explicit TwoQueues(bool in_pieces = true) {
    const OwnedFd fd = std::move(*make_sealed_memory(ShmExchange::memory_bytes(2)));
    const auto secret = random_id();
    const std::vector<NeighbourProof> proofs(2, {::getpid(), reinterpret_cast<std::uint64_t>(secret.data()), secret});
    for (int rank : {0, 1})
      queues.push_back(std::make_unique<ShmQueue>(
          ShmExchange(std::move(*ShmMemory::map(fd.get(), ShmExchange::memory_bytes(2))), rank, 2), "", in_pieces,
          std::move(*Neighbours::prove(proofs, rank))));
  }

  std::shared_ptr<OperationWork> add(int rank, const std::vector<float>& in, std::vector<float>& out) {
    Call call = call_of(Operation::all_gather, 2, {in.size(), in.size()}, sizeof(float));
    call.problem.rank = rank;
    call.input = in.data();
    call.output = out.data();
    auto work = std::make_shared<OperationWork>(origin);
    EXPECT_TRUE(queues[std::size_t(rank)]->takes(call));
    EXPECT_TRUE(queues[std::size_t(rank)]->add(work, call));
    return work;
  }
  void advance(int rank) {
    while (queues[std::size_t(rank)]->advance(callbacks)) {
    }
  }
  // Runs a first operation, which is copied. Both ranks then know the cost of copying, and want offers to learn that of
  // reading.
  void come_to_offers() {
    const std::vector<float> in(kAllSlots);
    std::vector<float> out(2 * kAllSlots), other(2 * kAllSlots);
    const std::shared_ptr<OperationWork> both[] = {add(0, in, out), add(1, in, other)};
    for (int rank : {0, 1, 0}) advance(rank);
    ASSERT_TRUE(both[0]->over() && both[1]->over());
  }
};

TEST(Pieces, what_is_offered__is_over_when_the_others_have_read_it) {
  TwoQueues two;
  two.come_to_offers();
  const std::vector<float> ones(kAllSlots, 1), twos(kAllSlots, 2);
  std::vector<float> out(2 * kAllSlots), other(2 * kAllSlots), expected(ones);
  expected.insert(expected.end(), twos.begin(), twos.end());
  const auto late = two.add(1, twos, other);
  two.advance(1);  // posts all, and reads nothing: rank 0 has posted nothing
  const auto first = two.add(0, ones, out);
  two.advance(0);
  EXPECT_EQ(out, expected) << "it has taken all";
  EXPECT_FALSE(first->over());
  EXPECT_EQ(two.queues[0]->awaited(), std::vector{1});
  two.advance(1);
  two.advance(0);
  two.advance(1);
  EXPECT_TRUE(first->over());
  EXPECT_TRUE(late->over());
  EXPECT_EQ(other, expected);
}

TEST(Pieces, what_was_withdrawn__is_not_read) {
  TwoQueues two;
  two.come_to_offers();
  std::vector<float> in(kAllSlots, 1), out(2 * kAllSlots), other(kAllSlots, 1), other_out(2 * kAllSlots, -1);
  const auto first = two.add(0, in, out);
  two.advance(0);
  EXPECT_EQ(two.queues[0]->close().size(), 1u);
  std::ranges::fill(in, 1000);
  const auto late = two.add(1, other, other_out);
  two.advance(1);
  EXPECT_FALSE(late->over());
  EXPECT_EQ(other_out, std::vector<float>(2 * kAllSlots, -1));
  EXPECT_EQ(two.queues[1]->awaited(), std::vector{0});
  EXPECT_TRUE(two.queues[1]->failure().ok());
}

// A rank that closes may overwrite at once what it offered. Nothing that another rank is reading of it counts, not even
// a piece.
TEST(Pieces, what_is_withdrawn_while_it_is_read__never_counts) {
  constexpr std::size_t kPiece = kPostedMax / sizeof(float), kPage = 4096 / sizeof(float);
  const Nanos delay_most = 150us;  // about as long as reading all of it takes
  const TimePoint start = now();
  std::mt19937 random(1);
  std::vector<float> in(kAllSlots), out(2 * kAllSlots), other_out(2 * kAllSlots);
  const std::vector<float> other(kAllSlots, 2);
  int cut = 0;  // rounds that ended in mid-operation
  for (int round = 0; round < 20'000 && now() - start < 2s; ++round) {
    TwoQueues two;
    two.come_to_offers();
    const std::uint64_t before = two.queues[1]->ended();
    std::ranges::fill(in, 1);
    std::ranges::fill(other_out, -1);
    const auto late = two.add(1, other, other_out);
    two.advance(1);
    const auto first = two.add(0, in, out);
    two.advance(0);  // both have posted all, and only rank 1 has still to read
    const Nanos delay(random() % std::uint64_t(delay_most.count()));
    std::atomic<bool> reading{false};
    std::thread reader([&] {
      reading = true;
      two.advance(1);
    });
    while (!reading) std::this_thread::yield();
    for (const TimePoint then = now() + delay; now() < then;) {
    }
    (void)two.queues[0]->close();
    for (std::size_t i = 0; i < in.size(); i += kPage) in[i] = 1000;  // one element per page: faster than the reader
    reader.join();
    const std::size_t pieces_taken = std::min<std::size_t>(two.queues[1]->ended() - before, ShmColumn::kSlots);
    const auto taken_end = other_out.begin() + std::ptrdiff_t(pieces_taken * kPiece);
    ASSERT_EQ(std::count(other_out.begin(), taken_end, 1.0f), taken_end - other_out.begin()) << "round " << round;
    ASSERT_TRUE(two.queues[1]->failure().ok()) << two.queues[1]->failure().message();
    ASSERT_EQ(late->over(), pieces_taken == ShmColumn::kSlots);
    if (late->over()) {
      ASSERT_TRUE(late->status().ok());
      ASSERT_EQ(std::ranges::count(other_out, 2.0f), std::ptrdiff_t(kAllSlots));
    }
    cut += pieces_taken > 0 && !late->over();
  }
  RecordProperty("cut", cut);
}

TEST(Pieces, takes__large_ones_only_where_all_do) {
  Call call = call_of(Operation::all_reduce, 2, {kPostedMax});
  EXPECT_TRUE(TwoQueues(false).queues[0]->takes(call));
  call.problem.counts = {kPostedMax + 1};
  EXPECT_FALSE(TwoQueues(false).queues[0]->takes(call));
  EXPECT_TRUE(TwoQueues(true).queues[0]->takes(call));
  call.hints.priority = Priority::urgent;
  EXPECT_FALSE(TwoQueues(true).queues[0]->takes(call));
}

// Offered, copied, small and rooted operations, all at once and awaited in reverse order.
TEST(Pieces, operations_of_every_kind__at_once) {
  Ranks ranks(3, "every", true);
  ranks.run([](int rank, Group& group) {
    constexpr std::size_t kLarge = 300'000, kLarger = 1'000'000;
    const std::vector<std::int32_t> in(kLarger, rank + 1);
    for (int round = 0; round < 5; ++round) {
      std::vector<std::int32_t> sums(kLarge), gathered(3 * kLarger), gathered_offered(3 * kLarge),
          in_place(kLarge, rank + 1), small(100), root(100);
      std::vector<WorkPtr> works = {
          group.all_reduce(in.data(), sums.data(), kLarge, DataType::int32, Reduction::sum),
          group.reduce(in.data(), root.data(), root.size(), DataType::int32, Reduction::sum, round % 3),
          group.all_gather(in.data(), gathered.data(), kLarger, DataType::int32),
          group.all_gather(in.data(), gathered_offered.data(), kLarge, DataType::int32),
          group.all_reduce(in.data(), small.data(), small.size(), DataType::int32, Reduction::max),
          group.all_reduce(in_place.data(), in_place.data(), kLarge, DataType::int32, Reduction::sum),
          group.barrier()};
      for (std::size_t k = works.size(); k-- > 0;) ASSERT_EQ(outcome(works[k]), "ok") << k;
      EXPECT_EQ(sums, std::vector<std::int32_t>(kLarge, 6));
      EXPECT_EQ(in_place, sums);
      EXPECT_EQ(small, std::vector<std::int32_t>(100, 3));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < gathered.size(); ++i) wrong += gathered[i] != int(i / kLarger) + 1;
      for (std::size_t i = 0; i < gathered_offered.size(); ++i) wrong += gathered_offered[i] != int(i / kLarge) + 1;
      EXPECT_EQ(wrong, 0u);
      EXPECT_EQ(root, std::vector<std::int32_t>(100, rank == round % 3 ? 6 : 0));
    }
  });
}

// For several types and reductions: the same bits as small operations on the same elements.
TEST(Pieces, a_large_reduction__is_what_small_ones_are) {
  Ranks ranks(3, "bits", true);
  const std::pair<DataType, Reduction> kinds[] = {{DataType::float16, Reduction::avg},
                                                  {DataType::bfloat16, Reduction::sum},
                                                  {DataType::complex128, Reduction::avg},
                                                  {DataType::int8, Reduction::prod},
                                                  {DataType::float64, Reduction::premul_sum}};
  for (const auto& [type, reduction] : kinds)
    ranks.run([type = type, reduction = reduction](int rank, Group& group) {
      constexpr std::size_t kCount = 90'001, kSmall = 1001;
      const std::size_t bytes = size_bytes(type);
      std::vector<std::uint8_t> in(kCount * bytes), large(in.size()), small(in.size());
      for (std::size_t i = 0; i < in.size(); ++i)
        in[i] = std::uint8_t((i * 37 + std::size_t(rank) * 11 + i / 251) % 61);
      ASSERT_EQ(outcome(group.all_reduce(in.data(), large.data(), kCount, type, reduction)), "ok");
      for (std::size_t at = 0; at < kCount; at += kSmall) {
        const std::size_t n = std::min(kSmall, kCount - at), offset = at * bytes;
        ASSERT_EQ(outcome(group.all_reduce(in.data() + offset, small.data() + offset, n, type, reduction)), "ok");
      }
      EXPECT_EQ(large, small) << name(type) << ", rank " << rank;
    });
}

// A child has its parent's memory at the same addresses.
TEST(Neighbours, read__of_a_process_that_was_killed) {
  const auto secret = random_id();
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const NeighbourProof own{::getpid(), reinterpret_cast<std::uint64_t>(secret.data()), secret};
  NeighbourProof theirs = own;
  theirs.pid = child;
  auto neighbours = Neighbours::prove(std::vector{own, theirs}, 0);
  ASSERT_TRUE(neighbours.ok()) << neighbours.status().message();
  std::array<std::byte, 16> read{};
  const auto* const there = reinterpret_cast<const std::byte*>(secret.data());
  EXPECT_TRUE(neighbours->read(1, there, read).ok());
  EXPECT_EQ(neighbours->read(1, nullptr, read).code(), Code::system);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const Status lost = neighbours->read(1, there, read);
  EXPECT_EQ(lost.code(), Code::remote);
  EXPECT_NE(lost.message().find("rank 1 is lost"), std::string::npos) << lost.message();
}

TEST(Pieces, as_many_pieces_of_another_operation_are_reported) {
  Ranks ranks(2, "differ", true);
  std::string said[2];
  ranks.run([&](int rank, Group& group) {
    const std::size_t counts[] = {100'000, 90'000};
    std::vector<float> in(100'000), out(100'000);
    said[rank] = outcome(group.all_reduce(in.data(), out.data(), counts[rank], DataType::float32, Reduction::sum), 20s);
  });
  // The rank that notices first informs the other.
  for (const std::string& one : said)
    EXPECT_TRUE(one.find("rank 1 does not do the same operation as rank 0: "
                         "a contribution of 360000 bytes where 400000 were due") != std::string::npos ||
                one.find("rank 0 does not do the same operation as rank 1: "
                         "a contribution of 400000 bytes where 360000 were due") != std::string::npos)
        << one;
}

}  // namespace
}  // namespace railweave::collectives_test
