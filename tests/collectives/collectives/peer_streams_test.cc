#include "collectives/exec/peer_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "collectives/group/group.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using collectives::Group;
using collectives::Hints;
using collectives::PeerStreams;

// An engine that records the priority of every connect(). Refuses the first `refused` of them, or connects all to a
// listener where nobody accepts (`astray`).
class RememberingEngine final : public Engine {
 public:
  explicit RememberingEngine(int refused, bool astray = false) : astray_(astray), refused_(refused) {
    Config config;
    config.interfaces = "=lo";
    config.stats_dir.clear();
    engine_ = *Engine::start(config);
    nobody_ = std::move(*engine_->listen(0, nobodys_));
  }
  const std::vector<Rail>& rails() const override { return engine_->rails(); }
  const std::vector<Device>& devices() const override { return engine_->devices(); }
  bool shares_memory() const override { return engine_->shares_memory(); }
  Result<std::unique_ptr<Listener>> listen(int device, Handle& handle) override {
    return engine_->listen(device, handle);
  }
  Result<std::unique_ptr<Connector>> connect(int device, const Handle& handle, int traffic_class,
                                             Priority priority) override {
    const std::lock_guard lock(mutex_);
    classes_.push_back(priority);
    if (refused_-- > 0) return Status(Code::exhausted, Scope::engine, "not now");
    return engine_->connect(device, astray_ ? nobodys_ : handle, traffic_class, priority);
  }
  EngineStats stats() const override { return engine_->stats(); }
  std::vector<Priority> classes() const {
    const std::lock_guard lock(mutex_);
    return classes_;
  }

 private:
  std::shared_ptr<Engine> engine_;
  Handle nobodys_;
  std::unique_ptr<Listener> nobody_;
  const bool astray_;
  mutable std::mutex mutex_;
  std::vector<Priority> classes_;  // guarded by mutex_
  int refused_;                    // guarded by mutex_
};

TEST(PeerStreams, connect__keeps_its_class_when_it_is_tried_again) {
  auto engine = std::make_shared<RememberingEngine>(1);
  Handle own;
  auto listener = engine->listen(0, own);
  ASSERT_TRUE(listener.ok());
  PeerStreams peers(engine, 0, {own, own}, std::move(*listener));
  peers.to(1, 0, Priority::urgent);
  EXPECT_TRUE(peers.advance().ok());
  EXPECT_EQ(engine->classes(), (std::vector{Priority::urgent, Priority::urgent}));
}

TEST(PeerStreams, a_long_message__goes_by_its_senders_class) {
  Folder folder;
  std::shared_ptr<collectives::Store> store = std::move(*collectives::file_store(folder.path()));
  const auto sender = std::make_shared<RememberingEngine>(0);
  std::thread other([&] {
    auto group =
        Group::create(std::make_shared<RememberingEngine>(0), store, {"classes", 1, 2, std::chrono::seconds(20)});
    ASSERT_TRUE(group.ok()) << group.status().message();
    std::vector<char> data(100'000);
    EXPECT_EQ(outcome((*group)->recv(data.data(), data.size(), 0)), "ok");
  });
  auto group = Group::create(sender, store, {"classes", 0, 2, std::chrono::seconds(20)});
  if (group.ok()) {
    std::vector<char> data(100'000);
    Hints hints;
    hints.priority = Priority::urgent;
    EXPECT_EQ(outcome((*group)->send(data.data(), data.size(), 1, 0, hints)), "ok");
  }
  other.join();
  ASSERT_TRUE(group.ok()) << group.status().message();
  EXPECT_EQ(std::ranges::count(sender->classes(), Priority::urgent), 1);
}

// The rank reports the cause, and not its effect: that it closed its half of the group.
TEST(PeerStreams, a_rank_that_is_never_reached_reports_it_to_the_others) {
  Folder folder;
  std::shared_ptr<collectives::Store> store = std::move(*collectives::file_store(folder.path()));
  std::thread other([&] {
    EXPECT_FALSE(
        Group::create(std::make_shared<RememberingEngine>(0), store, {"apart", 1, 2, std::chrono::seconds(1)}).ok());
  });
  auto group =
      Group::create(std::make_shared<RememberingEngine>(0, true), store, {"apart", 0, 2, std::chrono::seconds(20)});
  other.join();
  ASSERT_FALSE(group.ok());
  EXPECT_NE(
      group.status().message().find("rank 1 reports: group 'apart': the ranks found but did not reach each other"),
      std::string::npos)
      << group.status().message();
}

}  // namespace
}  // namespace railweave::collectives_test
