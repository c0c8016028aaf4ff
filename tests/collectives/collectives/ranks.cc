#include "ranks.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <thread>

namespace railweave::collectives_test {

using collectives::Group;

Folder::Folder() {
  char name[] = "/tmp/railweave-ranks-XXXXXX";
  path_ = ::mkdtemp(name);
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

Ranks::Ranks(int size, const std::string& name, bool shared_memory) {
  auto store = collectives::file_store(folder_.path());
  EXPECT_TRUE(store.ok());
  store_ = std::move(*store);
  Config config;
  config.interfaces = "=lo";
  config.shm = shared_memory;
  config.stats_dir.clear();
  for (int r = 0; r < size; ++r) {
    auto engine = Engine::start(config);
    if (!engine.ok()) {
      ADD_FAILURE() << engine.status().message();
      return;
    }
    engines_.push_back(*engine);
  }
  groups_ = another(name);
}

std::vector<std::shared_ptr<Group>> Ranks::another(const std::string& name, std::shared_ptr<collectives::Store> store) {
  if (!store) store = store_;
  std::vector<std::shared_ptr<Group>> groups(engines_.size());
  std::vector<std::thread> threads;
  for (int r = 0; r < int(engines_.size()); ++r)
    threads.emplace_back([&, r] {
      auto group =
          Group::create(engines_[std::size_t(r)], store, {name, r, int(engines_.size()), std::chrono::seconds(20)});
      if (!group.ok()) ADD_FAILURE() << group.status().message();
      if (group.ok()) groups[std::size_t(r)] = *group;
    });
  for (auto& thread : threads) thread.join();
  return groups;
}

void Ranks::run(const std::function<void(int, Group&)>& work) {
  std::vector<Group*> groups;  // as they are before any rank leaves
  for (const auto& group : groups_) groups.push_back(group.get());
  std::vector<std::thread> threads;
  for (int r = 0; r < size(); ++r)
    if (Group* const group = groups[std::size_t(r)]) threads.emplace_back([&work, r, group] { work(r, *group); });
  for (auto& thread : threads) thread.join();
}

void Ranks::leave(int rank) {
  groups_[std::size_t(rank)].reset();
  engines_[std::size_t(rank)].reset();
}

std::string outcome(const collectives::WorkPtr& work, Nanos timeout) {
  const Status status = work->wait(timeout);
  return status.ok() ? "ok" : status.message();
}

}  // namespace railweave::collectives_test
