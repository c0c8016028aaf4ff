// Ranks of a job in this process, each with an engine of its own on loopback. Their store is a folder.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/group/group.h"

namespace railweave::collectives_test {

class Folder {
 public:
  Folder();
  ~Folder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Ranks {
 public:
  // Creates a group of `size` ranks. Fails the test if they do not meet.
  explicit Ranks(int size, const std::string& name = "test", bool shared_memory = false);
  int size() const { return int(groups_.size()); }
  collectives::Group& group(int rank) { return *groups_[std::size_t(rank)]; }
  // Runs `work` of every rank at once, each on a thread of its own. Returns when all have returned.
  void run(const std::function<void(int rank, collectives::Group& group)>& work);
  // Destroys the rank's group and engine.
  void leave(int rank);

  const std::string& store_folder() const { return folder_.path(); }

  // Creates another group of the same engines, by way of the same store or of `store`. Fails the test if they do not
  // meet.
  std::vector<std::shared_ptr<collectives::Group>> another(const std::string& name,
                                                           std::shared_ptr<collectives::Store> store = nullptr);

 private:
  Folder folder_;
  std::shared_ptr<collectives::Store> store_;
  std::vector<std::shared_ptr<Engine>> engines_;
  std::vector<std::shared_ptr<collectives::Group>> groups_;
};

// Waits for `work`. Returns "ok", or the error's message.
std::string outcome(const collectives::WorkPtr& work, Nanos timeout = std::chrono::seconds(30));

}  // namespace railweave::collectives_test
