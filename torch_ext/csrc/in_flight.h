// The Works of a backend that are not over.
// Threads: any. A Work is removed on the thread that drove it, perhaps after its backend is gone.
#pragma once

#include <list>
#include <vector>

#include "base/mutex.h"
#include "torch_ext/csrc/work.h"

namespace railweave::torch_ext {

class InFlight {
 public:
  using Place = std::list<c10::intrusive_ptr<RailweaveWork>>::iterator;

  Place add(c10::intrusive_ptr<RailweaveWork> work);
  void remove(Place place);
  // Returns the Works in the order in which they were added.
  std::vector<c10::intrusive_ptr<RailweaveWork>> all() const;

 private:
  mutable Mutex mutex_;
  std::list<c10::intrusive_ptr<RailweaveWork>> works_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave::torch_ext
