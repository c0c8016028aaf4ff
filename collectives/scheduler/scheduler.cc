#include "collectives/scheduler/scheduler.h"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace railweave::collectives {
namespace {

constexpr std::uint64_t kLeadOfOperations = 64 * MiB;          // a starting point: window in operations
constexpr std::uint64_t kNormalWindows = 2, kBulkWindows = 8;  // starting points, in windows

}  // namespace

void Scheduler::set_window(const Window& window, TimePoint now) {
  open_ = false;
  window_ = window;
  choose(now);
}

void Scheduler::open_to_proposals(TimePoint now) {
  open_ = true;
  follow_proposals(now);
}

void Scheduler::propose(QueueId by, std::size_t step_bytes, const Window& window, TimePoint now) {
  proposals_[by] = {step_bytes, window};
  if (open_) follow_proposals(now);
}

void Scheduler::withdraw(QueueId by, TimePoint now) {
  if (proposals_.erase(by) > 0 && open_) follow_proposals(now);
}

void Scheduler::follow_proposals(TimePoint now) {
  const auto most = std::ranges::max_element(proposals_, {}, [](const auto& entry) { return entry.second.step_bytes; });
  window_ = most == proposals_.end() ? Window() : most->second.window;
  choose(now);
}

// Lead in bytes issued: an urgent operation goes ahead of one of this priority that was issued at most the lead
// earlier. The lead is at least as large as the window. Otherwise operations larger than the lead would go in order of
// issue, regardless of priority.
std::uint64_t Scheduler::lead(Priority priority) const {
  const std::uint64_t bytes =
      std::max<std::uint64_t>({window_.bytes > 0 ? window_.bytes : kLeadOfOperations,
                               std::max<std::uint64_t>(1, window_.operations) * largest_bytes_});
  switch (priority) {
    case Priority::urgent: return 0;
    case Priority::normal: return kNormalWindows * bytes;
    case Priority::bulk: return kBulkWindows * bytes;
  }
  return 0;
}

Scheduler::Id Scheduler::issue(QueueId queue, Priority priority, std::size_t bytes, std::uint64_t at, TimePoint now,
                               Lead lead_bytes) {
  const Id id = next_id_++;
  if (off() || bytes < kSmallBytes) return id;
  QueueState& state = queues_[queue];
  ++state.operations;
  largest_bytes_ = std::max(largest_bytes_, bytes);
  state.last_key = std::max(state.last_key, at + lead_bytes.value_or(lead(priority)));
  operations_[id] = {state.last_key, queue, bytes, now, false};
  choose(now);
  return id;
}

bool Scheduler::live(Id id) const {
  const auto found = operations_.find(id);
  return found == operations_.end() || found->second.live;
}

void Scheduler::moved(Id id, TimePoint now) {
  const auto found = operations_.find(id);
  if (found == operations_.end()) return;
  found->second.moved_at = now;
  QueueState& queue = queues_[found->second.queue];
  if (queue.turn == 0) return;
  queue.turn = 0;
  choose(now);
}

void Scheduler::finish(Id id, TimePoint now) {
  const auto found = operations_.find(id);
  if (found == operations_.end()) return;
  const auto queue = queues_.find(found->second.queue);
  assert(queue != queues_.end() && queue->second.operations > 0);
  operations_.erase(found);
  if (--queue->second.operations == 0) queues_.erase(queue);
  choose(now);
}

bool Scheduler::pass_turn(TimePoint now) {
  if (held_ == 0) return false;
  std::map<QueueId, TimePoint> moved_at;  // by queue with live operations: the last move of one of these
  for (const auto& [id, operation] : operations_)
    if (operation.live) moved_at[operation.queue] = std::max(moved_at[operation.queue], operation.moved_at);
  bool stalled = false;
  for (const auto& [queue, moved] : moved_at) {
    if (now - moved < kStallMost) continue;
    queues_[queue].turn = ++turns_;
    stalled = true;
  }
  return stalled && choose(now);
}

std::vector<std::pair<Scheduler::Id, const Scheduler::Operation*>> Scheduler::in_order() const {
  std::vector<std::pair<Id, const Operation*>> order;
  for (const auto& [id, operation] : operations_) order.emplace_back(id, &operation);
  std::ranges::sort(order, {}, [this](const auto& entry) {
    return std::tuple(queues_.at(entry.second->queue).turn, entry.second->key, entry.first);
  });
  return order;
}

std::vector<Scheduler::Standing> Scheduler::standings() const {
  std::vector<Standing> all;
  for (const auto& [id, operation] : in_order()) {
    const QueueState& queue = queues_.at(operation->queue);
    all.push_back({id, operation->live, queue.turn > 0, operation->key, queue.last_key, operation->moved_at});
  }
  return all;
}

// Makes live, in order of turns and keys, as many operations as fit; the first one always.
bool Scheduler::choose(TimePoint now) {
  bool changed = false, room = true;
  held_ = 0;
  live_ = {};
  for (const auto& [id, one] : in_order()) {
    const bool fits = (window_.operations == 0 || live_.operations < window_.operations) &&
                      (window_.bytes == 0 || live_.bytes + one->bytes <= window_.bytes);
    room = room && (live_.operations == 0 || fits);
    if (room) {
      ++live_.operations;
      live_.bytes += one->bytes;
    } else {
      ++held_;
    }
    Operation& operation = operations_.at(id);
    if (room && !operation.live) operation.moved_at = now;
    changed |= operation.live != room;
    operation.live = room;
  }
  chosen_ = !off();
  most_live_ = {std::max(most_live_.operations, live_.operations), std::max(most_live_.bytes, live_.bytes)};
  if (!chosen_) most_live_ = {};
  return changed;
}

std::optional<Scheduler::Live> Scheduler::take_most_live() {
  if (!std::exchange(chosen_, false)) return std::nullopt;
  return std::exchange(most_live_, live_);
}

}  // namespace railweave::collectives
