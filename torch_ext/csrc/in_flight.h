// The Works of a backend that are not over, and records of the last ones that are. Each operation is in exactly one of
// the two.
// Threads: any. A Work is removed on the thread that drove it, perhaps after its backend is gone.
#pragma once

#include <list>
#include <vector>

#include "base/mutex.h"
#include "torch_ext/csrc/operation_record.h"
#include "torch_ext/csrc/work.h"

namespace railweave::torch_ext {

class InFlight {
 public:
  using Works = std::list<c10::intrusive_ptr<RailweaveWork>>;
  using Place = Works::iterator;
  static constexpr std::size_t kRecordsMost = 256;  // about 250 bytes each; fill half of a dump

  // Takes the memory of all records, so that remove() needs none.
  InFlight() { records_.reserve(kRecordsMost); }
  Place add(c10::intrusive_ptr<RailweaveWork> work);
  // Removes a Work, and keeps a record of it. `over`: when the operation ended. Called where an operation ends: no
  // exception may leave that place.
  void remove(Place place, const Status& outcome, TimePoint over) noexcept;
  // Returns the Works in the order in which they were added.
  std::vector<c10::intrusive_ptr<RailweaveWork>> all() const;
  struct Snapshot {
    std::vector<c10::intrusive_ptr<RailweaveWork>> works;  // in the order in which they were added
    std::vector<OperationRecord> records;                  // in the order in which they ended
  };
  Snapshot snapshot() const;

 private:
  mutable Mutex mutex_;
  Works works_ RW_GUARDED_BY(mutex_);
  std::vector<OperationRecord> records_ RW_GUARDED_BY(mutex_);  // a ring once kRecordsMost long
  std::size_t oldest_ RW_GUARDED_BY(mutex_) = 0;                // index in records_
};

}  // namespace railweave::torch_ext
