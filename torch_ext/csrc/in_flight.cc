#include "torch_ext/csrc/in_flight.h"

namespace railweave::torch_ext {

InFlight::Place InFlight::add(c10::intrusive_ptr<RailweaveWork> work) {
  const MutexLock lock(mutex_);
  return works_.insert(works_.end(), std::move(work));
}

void InFlight::remove(Place place) {
  c10::intrusive_ptr<RailweaveWork> last;  // perhaps the last reference: destroyed without the lock
  const MutexLock lock(mutex_);
  last = std::move(*place);
  works_.erase(place);
}

std::vector<c10::intrusive_ptr<RailweaveWork>> InFlight::all() const {
  const MutexLock lock(mutex_);
  return {works_.begin(), works_.end()};
}

}  // namespace railweave::torch_ext
