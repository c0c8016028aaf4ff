#include "torch_ext/csrc/unfinished.h"

namespace railweave::torch_ext {

Unfinished::Place Unfinished::add(c10::intrusive_ptr<RailweaveWork> work) {
  const MutexLock lock(mutex_);
  return works_.insert(works_.end(), std::move(work));
}

void Unfinished::remove(Place place) {
  c10::intrusive_ptr<RailweaveWork> last;  // perhaps the last reference: dropped without the lock
  const MutexLock lock(mutex_);
  last = std::move(*place);
  works_.erase(place);
}

std::vector<c10::intrusive_ptr<RailweaveWork>> Unfinished::all() const {
  const MutexLock lock(mutex_);
  return {works_.begin(), works_.end()};
}

}  // namespace railweave::torch_ext
