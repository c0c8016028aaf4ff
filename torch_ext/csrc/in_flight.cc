#include "torch_ext/csrc/in_flight.h"

#include <algorithm>
#include <type_traits>

namespace railweave::torch_ext {

InFlight::Place InFlight::add(c10::intrusive_ptr<RailweaveWork> work) {
  const MutexLock lock(mutex_);
  return works_.insert(works_.end(), std::move(work));
}

void InFlight::remove(Place place, const Status& outcome, TimePoint over) noexcept {
  static_assert(std::is_trivially_copyable_v<OperationRecord>);  // a record is kept without memory of its own
  Works last;  // perhaps the last reference: destroyed without the lock
  const MutexLock lock(mutex_);
  last.splice(last.end(), works_, place);
  OperationRecord* record = nullptr;
  if (records_.size() < kRecordsMost) {
    record = &records_.emplace_back((*place)->record());
  } else {
    record = &(records_[oldest_] = (*place)->record());
    oldest_ = (oldest_ + 1) % kRecordsMost;
  }
  record->outcome = outcome.code();
  record->over = over;
}

std::vector<c10::intrusive_ptr<RailweaveWork>> InFlight::all() const {
  const MutexLock lock(mutex_);
  return {works_.begin(), works_.end()};
}

InFlight::Snapshot InFlight::snapshot() const {
  const MutexLock lock(mutex_);
  Snapshot now{{works_.begin(), works_.end()}, records_};
  std::rotate(now.records.begin(), now.records.begin() + std::ptrdiff_t(oldest_), now.records.end());
  return now;
}

}  // namespace railweave::torch_ext
