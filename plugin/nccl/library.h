// The state of the process: one engine for all of NCCL's communicators, its users, and what they have open.
//
// From v11 on every init makes a Context and every finalize ends one; with the last the engine stops. Up to v10 nobody
// tells us to stop: the first init makes a Context for life. The Library itself is never destroyed, so exit handlers
// and the reactor cannot find it half gone. What a parent had open is dead in its forked child, and unknown to this.
// Threads: any.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "base/process_origin.h"
#include "nccl/net/comm.h"

namespace railweave::nccl {

// One user of the engine.
class Context {
 public:
  Context(std::shared_ptr<Engine> engine, int traffic_class)
      : engine_(std::move(engine)), traffic_class_(traffic_class) {}
  Engine& engine() const { return *engine_; }
  int traffic_class() const { return traffic_class_; }  // IP TOS octet; -1 = Config's

 private:
  const std::shared_ptr<Engine> engine_;
  const int traffic_class_;
};

class Library {
 public:
  // The library of this process. A forked child has one of its own; the parent's is left as the fork caught it, perhaps
  // locked.
  static Library& get();

  // Starts the engine if there is none. Errors: the engine's.
  Result<Context*> open(int traffic_class);
  Result<Context*> open_for_life();

  // Closes whatever the context has open, then ends it. Errors: no such context (internal).
  Status close(void* context);

  // Null: never initialised, or ended.
  std::shared_ptr<Engine> engine();
  Context* life_context();

  // NCCL says in *request which receives it reads while they land, where its version can.
  bool nccl_hints() const { return hints_; }

  // A copy that lives as long as the process: NCCL keeps names by pointer.
  char* keep(const std::string& text);

  template <class T, class... Args>
  T* add(Args&&... args) {
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* const raw = object.get();
    const MutexLock lock(mutex_);
    owned_.emplace(raw, std::move(object));
    return raw;
  }

  // What `pointer` refers to, or null when it is unknown or something else: `pointer` is not followed.
  template <class T>
  T* find(const void* pointer) {
    const MutexLock lock(mutex_);
    const auto found = owned_.find(pointer);
    return found == owned_.end() ? nullptr : dynamic_cast<T*>(found->second.get());
  }

  // The same, and the caller becomes its owner: destroys it without the lock.
  template <class T>
  std::unique_ptr<T> take(const void* pointer) {
    const MutexLock lock(mutex_);
    const auto found = owned_.find(pointer);
    if (found == owned_.end() || !dynamic_cast<T*>(found->second.get())) return nullptr;
    std::unique_ptr<T> object(static_cast<T*>(found->second.release()));
    owned_.erase(found);
    return object;
  }

 private:
  Library() = default;
  Result<Context*> open_locked(int traffic_class) RW_REQUIRES(init_mutex_);
  Result<std::shared_ptr<Engine>> running_engine() RW_REQUIRES(init_mutex_);
  std::vector<std::unique_ptr<Owned>> take_all_of(const Context* context);

  const ProcessOrigin origin_;
  Mutex init_mutex_;  // held while an engine starts or stops; before mutex_
  Mutex mutex_;       // maps and pointers
  std::weak_ptr<Engine> engine_ RW_GUARDED_BY(mutex_);
  std::atomic<bool> hints_{true};
  std::unordered_map<const void*, std::unique_ptr<Context>> contexts_ RW_GUARDED_BY(mutex_);
  Context* life_context_ RW_GUARDED_BY(mutex_) = nullptr;
  std::unordered_map<const void*, std::unique_ptr<Owned>> owned_ RW_GUARDED_BY(mutex_);
  std::unordered_set<std::string> kept_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave::nccl
