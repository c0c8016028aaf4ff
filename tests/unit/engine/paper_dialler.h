// A fake LaneDialler and fake Timers: the test reads the orders, answers the joins, and lets time pass.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "engine/connect/lane_dialler.h"
#include "engine/runtime/timers.h"
#include "tests/unit/engine/paper_lanes.h"

namespace railweave::engine {

// Fake timers, which run in pass() only.
class PaperTimers final : public Timers {
 public:
  explicit PaperTimers(StandingClock& clock) : clock_(clock) {}

  TimerId at(TimePoint when, std::function<void()> task) override {
    tasks_[++last_] = {when, std::move(task)};
    return last_;
  }
  void cancel(TimerId timer) override { tasks_.erase(timer); }

  bool none_is_set() const { return tasks_.empty(); }
  // Advances the clock by `time`, and runs the timers that fall due in their order.
  void pass(Nanos time) {
    const TimePoint end = clock_.at + time;
    for (;;) {
      const auto next = std::ranges::min_element(tasks_, {}, [](const auto& entry) { return entry.second.when; });
      if (next == tasks_.end() || next->second.when > end) break;
      clock_.at = std::max(clock_.at, next->second.when);
      const auto node = tasks_.extract(next);
      node.mapped().act();
    }
    clock_.at = end;
  }

 private:
  struct Task {
    TimePoint when;
    std::function<void()> act;
  };
  StandingClock& clock_;
  std::map<TimerId, Task> tasks_;
  TimerId last_ = 0;
};

// A fake dialler: the test answers each join with answer() or welcome().
class PaperDialler final : public LaneDialler {
 public:
  // One call of join(), and what became of it.
  struct Dialled {
    JoinOrder order;
    Answered answered;
    bool given_up = false;  // the Join was destroyed
    int taken = 0;
  };

  explicit PaperDialler(SessionLanes& lanes) : lanes_(lanes) {}

  Result<std::unique_ptr<Join>> join(const JoinOrder& order, Answered answered) override {
    if (lacks_memory) throw std::bad_alloc();
    if (!cannot_begin.ok() && !(order.is_peer_probe && probes_can_begin)) return cannot_begin;
    const auto dialled = joins.emplace_back(std::make_shared<Dialled>(Dialled{order, std::move(answered)}));
    return std::unique_ptr<Join>(std::make_unique<PaperJoin>(*this, dialled));
  }
  std::string why_no_route(int rail, const Route& route) override {
    return no_route ? no_route(rail, route) : std::string();
  }

  bool has_better_wire(int, const std::string& wire) override { return wire == worse_wire; }

  // Answers join `number`; the first is 0.
  void answer(std::size_t number, JoinAnswer::Kind kind, std::string why = "no") {
    answer(number, {.kind = kind, .why = std::move(why)});
  }
  void welcome(std::size_t number, int remote_rail = -1) {
    answer(number, {.kind = JoinAnswer::Kind::welcome,
                    .remote_rail = remote_rail >= 0 ? remote_rail : joins.at(number)->order.rails.remote,
                    .why = {}});
  }
  // Returns the pairs of the joins that were not given up, in the order of dialling.
  std::vector<RailPair> under_way() const {
    std::vector<RailPair> pairs;
    for (const auto& dialled : joins)
      if (!dialled->given_up) pairs.push_back(dialled->order.rails);
    return pairs;
  }

  std::vector<std::shared_ptr<Dialled>> joins;  // all calls of join() that succeeded
  std::string worse_wire;  // lanes of this wire are to be replaced; the replacement's wire is "better"
  bool lacks_memory = false, probes_can_begin = false;
  Status cannot_begin, cannot_take;
  std::function<std::string(int, const Route&)> no_route;

 private:
  class PaperJoin final : public Join {
   public:
    PaperJoin(PaperDialler& dialler, std::shared_ptr<Dialled> dialled)
        : dialler_(dialler), dialled_(std::move(dialled)) {}
    ~PaperJoin() override { dialled_->given_up = true; }
    Status take(const RailPair& where, bool doubtful) override {
      ++dialled_->taken;
      if (!dialler_.cannot_take.ok()) return dialler_.cannot_take;
      const protocol::LaneId lane = dialled_->order.lane;
      const char* const wire = dialled_->order.better_than.empty() ? "paper" : "better";
      EXPECT_TRUE(dialler_.lanes_.add_lane(
          lane, where, std::make_unique<PaperLane>(dialler_.papers_[lane], "eth" + std::to_string(where.local), wire),
          doubtful));
      return {};
    }

   private:
    PaperDialler& dialler_;
    const std::shared_ptr<Dialled> dialled_;
  };

  void answer(std::size_t number, const JoinAnswer& with) {
    Answered answered = std::move(joins.at(number)->answered);
    ASSERT_TRUE(answered) << "it was answered already";
    ASSERT_FALSE(joins.at(number)->given_up);
    answered(with);
  }

  SessionLanes& lanes_;
  std::map<protocol::LaneId, Paper> papers_;
};

}  // namespace railweave::engine
