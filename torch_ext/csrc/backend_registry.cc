#include "torch_ext/csrc/backend_registry.h"

#include <utility>
#include <vector>

#include "base/mutex.h"
#include "torch_ext/csrc/completions.h"

namespace railweave::torch_ext {
namespace {

using Weak = c10::weak_intrusive_ptr<RailweaveBackend>;

struct Living {
  Mutex mutex;
  std::vector<Weak> backends RW_GUARDED_BY(mutex);
};

// Never destroyed, because backends may end after static objects.
Living& living() {
  static auto* const the = new Living;
  return *the;
}

}  // namespace

void register_backend(const c10::intrusive_ptr<RailweaveBackend>& backend) {
  Living& all = living();
  const MutexLock lock(all.mutex);
  std::erase_if(all.backends, [](const Weak& one) { return one.expired(); });
  all.backends.emplace_back(backend);
}

void leave_all() {
  std::vector<c10::intrusive_ptr<RailweaveBackend>> there;  // destroyed without the lock: their end may register others
  {
    Living& all = living();
    const MutexLock lock(all.mutex);
    for (const Weak& one : std::exchange(all.backends, {}))
      if (auto backend = one.lock()) there.push_back(std::move(backend));
  }
  for (const auto& backend : there) backend->leave();
  await_future_threads();
}

}  // namespace railweave::torch_ext
