#include "collectives/group/group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::DataType;
using collectives::Group;
using collectives::Hints;
using collectives::Reduction;
using collectives::WorkPtr;

// Over TCP, and with shared memory, where small operations use the exchange.
class GroupOver : public testing::TestWithParam<bool> {
 protected:
  static bool has_exchange() { return GetParam(); }
  static Ranks start(int size) { return Ranks(size, "test", has_exchange()); }
};
INSTANTIATE_TEST_SUITE_P(Wires, GroupOver, testing::Bool(),
                         [](const auto& wire) { return wire.param ? "shm" : "tcp"; });

TEST_P(GroupOver, all_reduce__the_sum_everywhere) {
  for (int size : {1, 2, 3, 5}) {
    Ranks ranks = start(size);
    for (std::size_t count : {0, 1, 7, 4096, 300'001}) {
      ranks.run([&](int rank, Group& group) {
        std::vector<float> in(count), out(count, -1);
        for (std::size_t i = 0; i < count; ++i) in[i] = float(rank + 1) * float(i % 97);
        EXPECT_EQ(outcome(group.all_reduce(in.data(), out.data(), count, DataType::float32, Reduction::sum)), "ok");
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i) wrong += out[i] != float(size * (size + 1) / 2) * float(i % 97);
        EXPECT_EQ(wrong, 0u) << size << " ranks, " << count << " elements";
      });
    }
  }
}

TEST_P(GroupOver, operations__many_at_once_match_in_issue_order) {
  Ranks ranks = start(3);
  ranks.run([&](int rank, Group& group) {
    constexpr int kOperations = 60;
    std::vector<std::vector<std::int64_t>> data(kOperations);
    std::vector<WorkPtr> works;
    for (int k = 0; k < kOperations; ++k) {
      data[std::size_t(k)].assign(std::size_t(1 + k * 997 % 5000), rank + k);
      Hints hints;
      hints.priority = Priority(k % 3);
      auto* at = data[std::size_t(k)].data();
      works.push_back(group.all_reduce(at, at, data[std::size_t(k)].size(), DataType::int64, Reduction::sum, hints));
    }
    for (int k = kOperations - 1; k >= 0; --k) EXPECT_EQ(outcome(works[std::size_t(k)]), "ok");
    for (int k = 0; k < kOperations; ++k)
      for (const std::int64_t v : data[std::size_t(k)]) ASSERT_EQ(v, 3 + 3 * k);
  });
}

TEST_P(GroupOver, when_over__called_once_also_without_anyone_who_waits) {
  Ranks ranks = start(2);
  std::atomic<int> called{0};
  ranks.run([&](int, Group& group) {
    static int value[2] = {1, 1};
    int out = 0;
    auto work = group.all_reduce(&value[group.rank()], &out, 1, DataType::int32, Reduction::sum);
    work->when_over([&](const Status& status) { called += status.ok() ? 1 : 100; });
    for (int i = 0; i < 2000 && called < 2; ++i) std::this_thread::sleep_for(1ms);
    work->when_over([&](const Status& status) { called += status.ok() ? 10 : 100; });
    EXPECT_EQ(out, 2);
  });
  EXPECT_EQ(called, 22);
}

Result<std::shared_ptr<Engine>> engine_on_loopback() {
  Config config;
  config.interfaces = "=lo";
  config.stats_dir.clear();
  return Engine::start(config);
}

TEST(Group, create__names_the_ranks_that_do_not_come) {
  Folder folder;
  std::shared_ptr<collectives::Store> store = std::move(*collectives::file_store(folder.path()));
  auto engine = engine_on_loopback();
  ASSERT_TRUE(engine.ok());
  auto group = Group::create(*engine, store, {"lonely", 1, 4, 100ms});
  ASSERT_FALSE(group.ok());
  EXPECT_NE(group.status().message().find("rank 0, 2, 3 did not come"), std::string::npos) << group.status().message();
}

TEST(Group, create__names_sizes_that_differ) {
  Folder folder;
  std::shared_ptr<collectives::Store> store = std::move(*collectives::file_store(folder.path()));
  auto engine = engine_on_loopback();
  ASSERT_TRUE(engine.ok());
  Status ended[2];
  std::thread other([&] { ended[0] = Group::create(*engine, store, {"unlike", 0, 2, 10s}).status(); });
  ended[1] = Group::create(*engine, store, {"unlike", 1, 3, 10s}).status();
  other.join();
  for (const Status& status : ended) {
    EXPECT_EQ(status.code(), Code::exhausted);
    EXPECT_TRUE(status.message().find("rank 0 has group size 2, rank 1 has 3 ") != std::string::npos ||
                status.message().find("rank 1 has group size 3, rank 0 has 2 ") != std::string::npos)
        << status.message();
  }
  std::thread again([&] { ended[0] = Group::create(*engine, store, {"unlike", 0, 2, 10s}).status(); });
  ended[1] = Group::create(*engine, store, {"unlike", 1, 2, 10s}).status();
  again.join();
  for (const Status& status : ended) EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Group, create__leaves_nothing_behind_when_it_fails) {
  Folder folder;
  std::shared_ptr<collectives::Store> store = std::move(*collectives::file_store(folder.path()));
  auto engine = engine_on_loopback();
  ASSERT_TRUE(engine.ok());
  for (const int rank : {1, 0, 1}) {
    auto group = Group::create(*engine, store, {"lonely", rank, 2, 100ms});
    ASSERT_FALSE(group.ok());
    const std::string expected = "rank " + std::to_string(1 - rank) + " did not come";
    EXPECT_NE(group.status().message().find(expected), std::string::npos) << group.status().message();
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

// A store that takes long to remove a key.
class SlowToRemove final : public collectives::Store {
 public:
  explicit SlowToRemove(const std::string& folder) : store_(std::move(*collectives::file_store(folder))) {}
  Status set(const std::string& key, const std::string& value) override { return store_->set(key, value); }
  Result<std::string> get(const std::string& key, Nanos timeout) override { return store_->get(key, timeout); }
  Status remove(const std::string& key) override {
    std::this_thread::sleep_for(100ms);
    return store_->remove(key);
  }

 private:
  const std::unique_ptr<collectives::Store> store_;
};

// Keys that rank 1 published before are still there when rank 0 comes again.
TEST(Group, create__again_by_the_same_name_meets_no_earlier_rank) {
  Folder folder;
  const auto lives = [](int rank, const std::shared_ptr<collectives::Store>& store) {
    auto engine = engine_on_loopback();
    ASSERT_TRUE(engine.ok());
    for (int life = 0; life < 3; ++life) {
      auto group = Group::create(*engine, store, {"again", rank, 2, 10s});
      ASSERT_TRUE(group.ok()) << "rank " << rank << ", life " << life << ": " << group.status().message();
    }
  };
  std::thread slow(lives, 1, std::make_shared<SlowToRemove>(folder.path()));
  lives(0, std::move(*collectives::file_store(folder.path())));
  slow.join();
}

TEST(Group, create__refuses_a_second_rank_of_a_number_in_one_folder) {
  Folder folder;
  const auto first = std::move(*collectives::file_store(folder.path()));
  ASSERT_TRUE(first->claim("job/claim/1").ok());
  auto engine = engine_on_loopback();
  ASSERT_TRUE(engine.ok());
  const auto second = Group::create(*engine, std::move(*collectives::file_store(folder.path())), {"job", 1, 2, 100ms});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("rank 1 is there already"), std::string::npos) << second.status().message();
}

TEST_P(GroupOver, rank_that_leaves__is_named_everywhere_soon) {
  Ranks ranks = start(4);
  ranks.run([&](int rank, Group& group) {
    if (rank == 2) return;
    std::vector<float> data(1'000'000, 1);
    auto work = group.all_reduce(data.data(), data.data(), data.size(), DataType::float32, Reduction::sum);
    if (rank == 0) {
      std::this_thread::sleep_for(100ms);
      ranks.leave(2);
    }
    const std::string said = outcome(work, 10s);
    EXPECT_NE(said.find("rank 2 is lost"), std::string::npos) << "rank " << rank << ": " << said;
  });
}

// Rank 0 only receives from rank 1, on a stream that never existed.
TEST_P(GroupOver, rank_that_leaves_before_its_first_message__is_named) {
  Ranks ranks = start(2);
  ranks.run([&](int rank, Group& group) {
    if (rank == 1) return;
    int value = 0;
    auto work = group.recv(&value, sizeof value, 1);
    EXPECT_EQ(work->wait(1s).code(), Code::timed_out);
    ranks.leave(1);
    const std::string said = outcome(work, 10s);
    EXPECT_NE(said.find("rank 1 is lost"), std::string::npos) << said;
  });
}

TEST_P(GroupOver, abort__says_for_whom_the_oldest_operation_waited) {
  Ranks ranks = start(3);
  int value = 0;
  const auto stuck = ranks.group(0).broadcast(&value, &value, sizeof value, DataType::uint8, 1);
  EXPECT_EQ(stuck->wait(200ms).code(), Code::timed_out);
  stuck->abort();
  const std::string said = outcome(stuck, 10s);
  EXPECT_NE(said.find("waits for rank 1)"), std::string::npos) << said;
}

TEST_P(GroupOver, all_to_all_v__counts_that_do_not_match_are_reported) {
  for (const std::size_t sent : {0, 2}) {
    Ranks ranks = start(2);
    std::string said[2];
    ranks.run([&](int rank, Group& group) {
      std::uint8_t from[4] = {}, to[4] = {};
      const std::vector<std::size_t> two{2, 2}, send = rank == 1 ? std::vector<std::size_t>{sent, 2} : two,
                                                receive = rank == 0 ? std::vector<std::size_t>{2, 2 - sent} : two;
      said[rank] = outcome(group.all_to_all_v(from, to, send, receive, DataType::uint8), 10s);
    });
    // Rank 1 may have received all that it expects by then; only its next operation would fail.
    EXPECT_NE(said[0].find("does not do the same operation as"), std::string::npos) << said[0];
  }
}

TEST_P(GroupOver, operations_that_differ_in_size_are_reported_not_as_a_loss) {
  Ranks ranks = start(2);
  const std::size_t counts[] = {3, 4};
  std::string said[2];
  ranks.run([&](int rank, Group& group) {
    std::uint8_t data[4] = {};
    said[rank] = outcome(group.broadcast(data, data, counts[rank], DataType::uint8, 0), 10s);
  });
  EXPECT_NE(said[1].find("rank 0 does not do the same operation as rank 1: "), std::string::npos) << said[1];
  EXPECT_NE(said[1].find("of 3 bytes where 4 were due"), std::string::npos) << said[1];
}

// The first message looks like the one that is due: 256 KiB, or none.
TEST_P(GroupOver, operations_that_differ_by_whole_messages_are_reported) {
  using Call = std::function<WorkPtr(Group&, const int* in, int* out, std::size_t count)>;
  const Call calls[] = {
      [](Group& g, const int* in, int* out, std::size_t n) {
        return g.broadcast(g.rank() == 0 ? in : out, g.rank() == 0 ? const_cast<int*>(in) : out, n, DataType::int32, 0);
      },
      [](Group& g, const int* in, int* out, std::size_t n) { return g.all_gather(in, out, n, DataType::int32); },
      [](Group& g, const int* in, int* out, std::size_t n) { return g.gather(in, out, n, DataType::int32, 1); },
      [](Group& g, const int* in, int* out, std::size_t n) { return g.scatter(in, out, n, DataType::int32, 0); },
      [](Group& g, const int* in, int* out, std::size_t n) {
        return g.reduce(in, out, n, DataType::int32, Reduction::sum, 1);
      },
      [](Group& g, const int* in, int* out, std::size_t n) { return g.all_to_all(in, out, n, DataType::int32); },
  };
  constexpr std::size_t kChunk = 65'536;
  for (const Call& call : calls)
    for (const std::size_t more : {2u, 3u}) {
      Ranks ranks = start(2);
      std::string said[2];
      ranks.run([&](int rank, Group& group) {
        const std::size_t count = rank == 0 ? more * kChunk : kChunk;
        std::vector<int> in(2 * count, rank), out(2 * count);
        said[rank] = outcome(call(group, in.data(), out.data(), count), 10s);
      });
      EXPECT_NE(said[1].find("does not do the same operation as rank "), std::string::npos)
          << &call - calls << ": " << said[1];
    }
}

TEST_P(GroupOver, parts_of_operations_cut_differently_are_reported) {
  Ranks ranks = start(2);
  std::string said[2];
  ranks.run([&](int rank, Group& group) {
    std::vector<int> data(100'000, 1);
    Hints hints;
    hints.part = rank == 0 ? std::uint64_t{2} << 32 | 1 : 0;
    said[rank] =
        outcome(group.all_reduce(data.data(), data.data(), data.size(), DataType::int32, Reduction::sum, hints), 10s);
  });
  EXPECT_NE(said[1].find("all_reduce of int32 (sum) with other counts"), std::string::npos) << said[1];
}

// Operations of equal sizes that differ otherwise. The rank that notices first informs the other, in its own terms.
TEST_P(GroupOver, operations_that_differ_in_more_than_size_are_both_named) {
  struct Differing {
    std::function<WorkPtr(Group&, int* data)> calls[2];
    const char* named[2];
  };
  constexpr auto sum = Reduction::sum;
  const Differing cases[] = {
      {{[](Group& g, int* d) { return g.all_reduce(d, d, 2, DataType::int32, sum); },
        [](Group& g, int* d) { return g.all_reduce(d, d, 2, DataType::float32, sum); }},
       {"all_reduce of int32 (sum)", "all_reduce of float32 (sum)"}},
      {{[](Group& g, int* d) { return g.all_reduce(d, d, 2, DataType::int32, Reduction::max); },
        [](Group& g, int* d) { return g.all_reduce(d, d, 2, DataType::int32, sum); }},
       {"all_reduce of int32 (max)", "all_reduce of int32 (sum)"}},
      {{[](Group& g, int* d) { return g.broadcast(d, d, 2, DataType::int32, 0); },
        [](Group& g, int* d) { return g.all_reduce(d, d, 2, DataType::int32, sum); }},
       {"broadcast of int32, root 0", "all_reduce of int32 (sum)"}},
      // No rank receives the first broadcast. The difference shows with the next operation on its channel; on the
      // exchange, after the next operation that needs all ranks.
      {{[](Group& g, int* d) {
          return (void)g.broadcast(d, d, 2, DataType::int32, 0), (void)g.barrier(),
                 g.broadcast(d, d, 2, DataType::int32, 0);
        },
        [](Group& g, int* d) {
          return (void)g.broadcast(d, d, 2, DataType::int32, 1), (void)g.barrier(),
                 g.broadcast(d, d, 2, DataType::int32, 0);
        }},
       {has_exchange() ? "broadcast of int32, root 0" : "operation ",
        has_exchange() ? "broadcast of int32, root 1" : ": their calls before it differed"}},
  };
  for (const Differing& differing : cases) {
    Ranks ranks = start(2);
    std::string said[2];
    ranks.run([&](int rank, Group& group) {
      int data[2] = {1, 2};
      said[rank] = outcome(differing.calls[rank](group, data), 10s);
    });
    EXPECT_NE(said[1].find("does not do the same operation"), std::string::npos) << said[1];
    for (const char* named : differing.named) EXPECT_NE(said[1].find(named), std::string::npos) << said[1];
  }
}

// Neither rank sends what is due at the other. Both stand still, and compare their operations.
TEST_P(GroupOver, operations_of_two_roots_are_both_named_while_all_ranks_wait) {
  Ranks ranks = start(2);
  std::string said[2];
  ranks.run([&](int rank, Group& group) {
    std::vector<float> in(1 << 20), out(in.size());
    said[rank] = outcome(group.reduce(in.data(), out.data(), in.size(), DataType::float32, Reduction::sum, rank), 20s);
  });
  for (const std::string& one : said) {
    EXPECT_NE(one.find("does not do the same operation as rank "), std::string::npos) << one;
    for (const char* named : {"reduce of float32 (sum), root 0", "reduce of float32 (sum), root 1"})
      EXPECT_NE(one.find(named), std::string::npos) << one;
  }
}

// Two groups of the same ranks. Half of the ranks issue their operations the other way round, in every priority, and
// more at once than the window admits. All operations end, with right results.
TEST_P(GroupOver, a_window_of_one_operation__holds_up_nothing_for_ever) {
  ::setenv("RAILWEAVE_SCHEDULE", "window:1", 1);
  constexpr int kSize = 3, kEach = 6;
  constexpr std::size_t kCount = 100'000;
  Ranks ranks = start(kSize);
  const auto others = ranks.another("other");  // of the same engines, so of the same window
  ::unsetenv("RAILWEAVE_SCHEDULE");
  constexpr Priority kTurns[] = {Priority::bulk, Priority::urgent, Priority::normal};
  ranks.run([&](int rank, Group& one) {
    Group& other = *others[std::size_t(rank)];
    std::vector<std::vector<float>> data(2 * kEach, std::vector<float>(kCount, float(rank)));
    std::vector<WorkPtr> works;
    for (int i = 0; i < kEach; ++i) {
      for (const bool swapped : {rank % 2 == 0, rank % 2 != 0}) {
        auto& mine = data[std::size_t(2 * i + swapped)];
        works.push_back(
            (swapped ? one : other)
                .all_reduce(mine.data(), mine.data(), kCount, DataType::float32, Reduction::sum, {kTurns[i % 3]}));
      }
    }
    for (auto work = works.rbegin(); work != works.rend(); ++work) EXPECT_EQ(outcome(*work, 30s), "ok");
    for (const auto& mine : data) EXPECT_EQ(mine, std::vector<float>(kCount, float(kSize * (kSize - 1) / 2)));
  });
}

TEST_P(GroupOver, abort__returns_every_waiter) {
  Ranks ranks = start(3);
  ranks.run([&](int rank, Group& group) {
    if (rank == 2) return std::this_thread::sleep_for(300ms);
    int value = 1, out = 0;
    auto work = group.all_reduce(&value, &out, 1, DataType::int32, Reduction::sum);
    const auto aborted = [](const std::string& said) {
      return said.find("aborted by its caller") != std::string::npos;
    };
    std::thread second([&] { EXPECT_TRUE(aborted(outcome(work, 10s))); });
    std::thread aborts([&] {
      std::this_thread::sleep_for(50ms);
      if (rank == 0) work->abort();
    });
    EXPECT_TRUE(aborted(outcome(work, 10s)));
    second.join();
    aborts.join();
    EXPECT_NE(outcome(group.barrier(), 1s), "ok");
  });
}

TEST_P(GroupOver, arguments__refused_alone) {
  Ranks ranks = start(2);
  ranks.run([&](int, Group& group) {
    std::vector<float> data(10);
    EXPECT_NE(
        outcome(group.all_reduce(data.data(), data.data() + 1, 5, DataType::float32, Reduction::sum)).find("overlaps"),
        std::string::npos);
    EXPECT_NE(outcome(group.all_reduce(data.data(), data.data(), 5, DataType::float32, Reduction::band))
                  .find("band of float32 is not supported"),
              std::string::npos);
    EXPECT_NE(
        outcome(group.broadcast(data.data(), data.data(), 5, DataType::float32, 2)).find("root 2, expected 0 to 1"),
        std::string::npos);
    EXPECT_NE(outcome(group.all_gather(data.data(), nullptr, 5, DataType::float32)).find("no output"),
              std::string::npos);
    EXPECT_NE(
        outcome(group.all_reduce(data.data(), data.data(), std::size_t(1) << 62, DataType::float32, Reduction::sum))
            .find("exceed the address space"),
        std::string::npos);
    const std::size_t sends[] = {3, 3}, receives[] = {2, 2};
    EXPECT_NE(outcome(group.all_to_all_v(data.data(), data.data() + 6, sends, receives, DataType::float32))
                  .find("3 elements to itself and receives 2"),
              std::string::npos);
    EXPECT_EQ(outcome(group.barrier()), "ok");
  });
}

}  // namespace
}  // namespace railweave::collectives_test
