// The Work of a group over an engine.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectives/board/line.h"
#include "collectives/group.h"
#include "collectives/runner.h"

namespace railweave::collectives {

class Ticket final : public Work {
 public:
  // `abort_group`: ends the ticket's group as cancelled; must be callable after the group is gone.
  // `line`: where the operation is, if it is on a board; else null.
  Ticket(std::shared_ptr<Runner> runner, std::function<void(const std::string& why)> abort_group, std::shared_ptr<BoardLine> line)
      : runner_(std::move(runner)), abort_group_(std::move(abort_group)), line_(std::move(line)) {}

  bool test() override;
  Status wait(Nanos timeout) override;
  void abort() override;
  void when_over(std::function<void(const Status&)> callback) override;
  Status status() const override;
  int source() const override { return over() ? source_ : -1; }
  std::size_t bytes() const override { return over() ? bytes_ : 0; }

  bool over() const { return over_.load(std::memory_order_acquire); }
  // Once. Answers what is to be called now, without any lock held.
  std::vector<std::function<void()>> finish(Status status, int source = -1, std::size_t bytes = 0);

 private:
  const std::shared_ptr<Runner> runner_;
  const std::function<void(const std::string&)> abort_group_;
  const std::shared_ptr<BoardLine> line_;
  Status status_;                          // these three: constant once over_
  int source_ = -1;
  std::size_t bytes_ = 0;
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::vector<std::function<void(const Status&)>> callbacks_;  // guarded by mutex_
};

}  // namespace railweave::collectives
