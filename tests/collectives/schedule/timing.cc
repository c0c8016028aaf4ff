#include "timing.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "collectives/schedule/memory.h"

namespace railweave::collectives {
namespace {

class Simulation {
 public:
  Simulation(const std::vector<Problem>& problems, const std::vector<Schedule>& schedules, const Machine& machine)
      : problems_(problems), schedules_(schedules), machine_(machine), ranks_(problems.size()) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) prepare(rank);
  }

  double run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const std::uint32_t step : ranks_[rank].ready_at_start) start(rank, step);
      events_.push({0, rank, kLinkFree});
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      if (event.step == kLinkFree)
        send_next(event.rank);
      else
        finish(event.rank, event.step);
    }
    return now_;
  }

 private:
  static constexpr std::uint32_t kLinkFree = UINT32_MAX;  // in place of a step
  struct Queue {
    std::vector<std::uint32_t> steps;
    std::size_t posted = 0, sent = 0, done = 0;
  };
  struct Rank {
    std::vector<Queue> sends, receives;
    std::vector<std::uint32_t> waits, ready_at_start;
    std::vector<std::vector<std::uint32_t>> followers;
    bool sending = true;     // at first: no rank sends before all have posted
    std::size_t served = 0;  // the peer of the last send
    double in_free = 0, core_free = 0;
  };
  struct Event {
    double at;
    std::size_t rank;
    std::uint32_t step;
    bool operator>(const Event& other) const { return at > other.at; }
  };

  void prepare(std::size_t rank) {
    Rank& here = ranks_[rank];
    here.served = rank;
    const Schedule& schedule = schedules_[rank];
    here.sends.resize(ranks_.size());
    here.receives.resize(ranks_.size());
    here.waits.resize(schedule.steps.size());
    here.followers.resize(schedule.steps.size());
    for (std::uint32_t id = 0; id < schedule.steps.size(); ++id) {
      const Step& step = schedule.steps[id];
      if (step.kind == Step::Kind::send) here.sends[std::size_t(step.peer)].steps.push_back(id);
      if (step.kind == Step::Kind::receive) here.receives[std::size_t(step.peer)].steps.push_back(id);
      here.waits[id] = step.after_end - step.after_begin;
      for (std::uint32_t i = step.after_begin; i < step.after_end; ++i) here.followers[schedule.after[i]].push_back(id);
      if (here.waits[id] == 0) here.ready_at_start.push_back(id);
    }
  }

  double bytes(std::size_t rank, const Piece& piece) const {
    return double(piece.count * form_bytes(problems_[rank], piece.form));
  }

  void start(std::size_t rank, std::uint32_t id) {
    const Step& step = schedules_[rank].steps[id];
    if (step.kind == Step::Kind::send) return transfer(rank, std::size_t(step.peer));
    if (step.kind == Step::Kind::receive) return transfer(std::size_t(step.peer), rank);
    double work = step.kind == Step::Kind::copy ? bytes(rank, step.from) : 0;
    for (std::uint32_t i = step.operands_begin; i < step.operands_end; ++i)
      work += bytes(rank, schedules_[rank].operands[i]);
    double& core_free = ranks_[rank].core_free;
    core_free = std::max(core_free, now_) + work / machine_.operands_per_s;
    events_.push({core_free, rank, id});
  }

  void transfer(std::size_t from, std::size_t to) {
    Queue& sends = ranks_[from].sends[to];
    Queue& receives = ranks_[to].receives[from];
    const auto advance = [this](Queue& queue, const Rank& rank) {
      while (queue.posted < queue.steps.size() && queue.posted - queue.done < machine_.window &&
             rank.waits[queue.steps[queue.posted]] == 0)
        ++queue.posted;
    };
    advance(sends, ranks_[from]);
    advance(receives, ranks_[to]);
    if (!ranks_[from].sending) send_next(from);
  }

  // Sends the next message; peers take turns.
  void send_next(std::size_t from) {
    Rank& here = ranks_[from];
    here.sending = false;
    for (std::size_t i = 1; i <= ranks_.size(); ++i) {
      const std::size_t to = (here.served + i) % ranks_.size();
      Queue& sends = here.sends[to];
      const Queue& receives = ranks_[to].receives[from];
      if (sends.sent == std::min(sends.posted, receives.posted)) continue;
      here.served = to;
      here.sending = true;
      const std::uint32_t send = sends.steps[sends.sent], receive = receives.steps[sends.sent];
      ++sends.sent;
      const double time = bytes(from, schedules_[from].steps[send].from) / machine_.bytes_per_s;
      double& in = ranks_[to].in_free;
      in = std::max(now_ + machine_.latency_s, in) + time;
      events_.push({now_ + time, from, kLinkFree});
      events_.push({in, to, receive});
      events_.push({in + machine_.latency_s, from, send});
      return;
    }
  }

  void finish(std::size_t rank, std::uint32_t id) {
    const Step& step = schedules_[rank].steps[id];
    if (step.kind == Step::Kind::send) {
      ++ranks_[rank].sends[std::size_t(step.peer)].done;
      transfer(rank, std::size_t(step.peer));
    } else if (step.kind == Step::Kind::receive) {
      ++ranks_[rank].receives[std::size_t(step.peer)].done;
      transfer(std::size_t(step.peer), rank);
    }
    for (const std::uint32_t follower : ranks_[rank].followers[id])
      if (--ranks_[rank].waits[follower] == 0) start(rank, follower);
  }

  const std::vector<Problem>& problems_;
  const std::vector<Schedule>& schedules_;
  const Machine machine_;
  std::vector<Rank> ranks_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  double now_ = 0;
};

}  // namespace

double duration_s(const std::vector<Problem>& problems, const std::vector<Schedule>& schedules,
                  const Machine& machine) {
  return Simulation(problems, schedules, machine).run();
}

double bytes_each_way(const std::vector<Problem>& problems, const std::vector<Schedule>& schedules) {
  double most = 0;
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    double out = 0, in = 0;
    for (const Step& step : schedules[rank].steps) {
      if (step.kind == Step::Kind::send) out += double(step.from.count * form_bytes(problems[rank], step.from.form));
      if (step.kind == Step::Kind::receive) in += double(step.to.count * form_bytes(problems[rank], step.to.form));
    }
    most = std::max({most, out, in});
  }
  return most;
}

}  // namespace railweave::collectives
