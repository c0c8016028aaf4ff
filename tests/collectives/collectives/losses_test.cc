// What ranks report to each other about losses, by way of the store.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "collectives/group/group.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::DataType;
using collectives::Group;
using collectives::Reduction;
using collectives::Store;

std::string sum_ones(Group& group) {
  int value = 1, out = 0;
  const std::string said = outcome(group.all_reduce(&value, &out, 1, DataType::int32, Reduction::sum), 20s);
  return said == "ok" && out != group.size() ? "wrong sum" : said;
}

// A store whose get() hangs from hang() to let_go().
class HangingStore final : public Store {
 public:
  explicit HangingStore(const std::string& folder) : store_(std::move(*collectives::file_store(folder))) {}
  Status set(const std::string& key, const std::string& value) override { return store_->set(key, value); }
  Status remove(const std::string& key) override { return store_->remove(key); }
  Result<std::string> get(const std::string& key, Nanos timeout) override {
    {
      std::unique_lock lock(mutex_);
      asked_ = hangs_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !hangs_; });
    }
    return store_->get(key, timeout);
  }
  void hang() { set_hangs(true); }
  void let_go() { set_hangs(false); }
  bool wait_until_asked() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return asked_; });
  }

 private:
  void set_hangs(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }

  const std::unique_ptr<Store> store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false, asked_ = false;  // guarded by mutex_
};

TEST(Losses, a_store_that_hangs__holds_up_no_other_group) {
  Ranks ranks(2);
  const auto store = std::make_shared<HangingStore>(ranks.store_folder());
  auto stuck = ranks.another("stuck", store);
  ASSERT_TRUE(stuck[0] && stuck[1]);
  store->hang();
  const auto alone = stuck[0]->barrier();  // the other rank does not come, so the store is asked for losses
  EXPECT_TRUE(store->wait_until_asked());
  ranks.run([&](int, Group& group) {
    for (int k = 0; k < 20; ++k) ASSERT_EQ(sum_ones(group), "ok");
  });
  store->let_go();
  alone->abort();
  EXPECT_NE(outcome(alone), "ok");
}

TEST(Losses, a_store_that_hangs_holds_up_no_wait_for_another_group) {
  Ranks ranks(2);
  const auto store = std::make_shared<HangingStore>(ranks.store_folder());
  auto stuck = ranks.another("stuck", store);
  ASSERT_TRUE(stuck[0] && stuck[1]);
  std::atomic<bool> over{false};
  std::thread rescuer([&] {
    for (int i = 0; i < 2000 && !over; ++i) std::this_thread::sleep_for(10ms);
    store->let_go();
  });
  store->hang();
  const auto alone = stuck[0]->barrier();
  const auto other = ranks.group(0).barrier();
  const TimePoint start = now();
  EXPECT_EQ(other->wait(2s).code(), Code::timed_out);  // drives, while the store of the other group hangs
  EXPECT_LT(now() - start, Nanos(15s));
  over = true;
  rescuer.join();
  alone->abort();
  other->abort();
}

TEST(Losses, a_store_that_hangs_holds_up_no_group_while_one_fails) {
  Ranks ranks(2);
  const auto store = std::make_shared<HangingStore>(ranks.store_folder());
  auto failing = ranks.another("failing", store);
  ASSERT_TRUE(failing[0] && failing[1]);
  const auto alone = failing[0]->barrier();
  store->hang();
  failing[1].reset();
  EXPECT_TRUE(store->wait_until_asked());
  ranks.run([&](int, Group& group) {
    for (int k = 0; k < 20; ++k) ASSERT_EQ(sum_ones(group), "ok");
  });
  EXPECT_NE(outcome(alone, 20s).find("rank 1 is lost"), std::string::npos) << outcome(alone, 0s);
  store->let_go();
}

TEST(Losses, a_store_that_hangs_hides_no_rank_that_left_the_exchange) {
  Ranks ranks(2, "test", true);
  const auto store = std::make_shared<HangingStore>(ranks.store_folder());
  auto groups = ranks.another("other", store);
  ASSERT_TRUE(groups[0] && groups[1]);
  int value = 1, out = 0;
  const auto waits = groups[0]->all_reduce(&value, &out, 1, DataType::int32, Reduction::sum);
  EXPECT_EQ(waits->wait(100ms).code(), Code::timed_out);
  store->hang();
  groups[1].reset();
  ranks.leave(1);
  const std::string said = outcome(waits, 10s);
  store->let_go();
  EXPECT_NE(said.find("rank 1 is lost"), std::string::npos) << said;
}

TEST(Losses, an_abort_with_nothing_under_way_reaches_the_other_ranks) {
  Ranks ranks(2);
  ranks.group(0).abort("enough of this");
  const std::string said = outcome(ranks.group(1).barrier());
  EXPECT_NE(said.find("enough of this"), std::string::npos) << said;
}

TEST(Losses, what_a_failed_group_leaves__the_next_of_its_name_takes_away) {
  Ranks ranks(2);
  const auto keys = [&] {
    const auto is_key = [](const auto& entry) { return entry.path().extension() != ".claim"; };
    const std::filesystem::directory_iterator entries(ranks.store_folder());
    return std::count_if(entries, std::filesystem::directory_iterator(), is_key);
  };
  EXPECT_EQ(keys(), 0);
  for (int life = 0; life < 3; ++life) {
    auto groups = ranks.another("again");
    ASSERT_TRUE(groups[0] && groups[1]);
    EXPECT_EQ(keys(), 0);
    std::thread other([&] { EXPECT_EQ(sum_ones(*groups[1]), "ok"); });
    EXPECT_EQ(sum_ones(*groups[0]), "ok");
    other.join();
    const auto work = groups[0]->barrier();
    work->abort();
    EXPECT_NE(outcome(work), "ok");
    (void)outcome(groups[1]->barrier(), 20s);  // rank 0's part of this one may have been under way
    EXPECT_NE(outcome(groups[1]->barrier(), 20s), "ok");
    EXPECT_EQ(keys(), 1);
  }
}

}  // namespace
}  // namespace railweave::collectives_test
