#include "torch_ext/csrc/group_progress.h"

#include <algorithm>
#include <new>
#include <utility>

namespace railweave::torch_ext {
namespace {

using Phase = OperationState::Phase;
using collectives::UnfinishedCall;

OperationState ended(const OperationRecord& record) {
  OperationState state;
  state.record = record;
  // The group had begun every operation that failed, or another rank had: the dump made then says more.
  state.phase = record.outcome == Code::ok ? Phase::completed : Phase::started;
  state.retired = true;
  return state;
}

// Returns the ranks that a message waits for.
std::vector<int> peers_of(const OperationRecord& record, const GroupIdentity& identity) {
  if (record.peer != collectives::kAnySource) return {record.peer};
  std::vector<int> others;
  for (int rank = 0; rank < int(identity.ranks.size()); ++rank)
    if (rank != identity.rank) others.push_back(rank);
  return others;
}

OperationState unfinished(const RailweaveWork& work, const std::vector<UnfinishedCall>& calls,
                          const GroupIdentity& identity) {
  OperationState state;
  state.record = work.record();
  state.waiter = work.waiter();
  state.phase = Phase::scheduled;
  const auto parts = work.parts();
  if (state.record.is_message()) {
    state.awaited = peers_of(state.record, identity);
    if (!parts.empty()) state.phase = Phase::started;
    return state;
  }
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto call = std::ranges::find(calls, parts[part].get(), &UnfinishedCall::work);
    if (call == calls.end() || parts[part] == nullptr) continue;
    state.part = part;
    state.call = call->call;
    state.counts = call->counts;
    state.awaited = call->awaited;
    if (call->started || part > 0) state.phase = Phase::started;
    break;
  }
  return state;
}

}  // namespace

void GroupProgress::describe(const std::string& description) {
  const MutexLock lock(mutex_);
  description_ = description;
}

void GroupProgress::fail(Code code, const std::string& why) noexcept {
  const MutexLock lock(mutex_);
  if (error_ != Code::ok) return;
  error_ = code;
  try {
    error_text_ = why;
  } catch (const std::bad_alloc&) {  // a thread that drives must go on
  }
}

GroupState GroupProgress::state() const {
  GroupState state;
  state.identity = identity_;
  // The calls first: an operation that ends meanwhile is then found among those that are over.
  std::vector<UnfinishedCall> calls;
  if (const auto group = group_.lock()) calls = group->unfinished();
  const InFlight::Snapshot now = in_flight_->snapshot();
  for (const OperationRecord& record : now.records) state.operations.push_back(ended(record));
  for (const auto& work : now.works) state.operations.push_back(unfinished(*work, calls, identity_));
  const MutexLock lock(mutex_);
  state.description = description_;
  state.error = error_;
  state.error_text = error_text_;
  return state;
}

}  // namespace railweave::torch_ext
