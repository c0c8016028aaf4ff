// The plugin's state in this process: one engine for all of NCCL's communicators, the contexts that use the engine, and
// the objects that they have open.
//
// Lifetime: from v11 on every init makes a Context and every finalize ends one; the engine stops with the last. Up to
// v10 NCCL does not call finalize: the first init makes a Context for life. The Library itself is never destroyed, so
// exit handlers and the reactor never meet a half-destroyed Library.
// Fork: a forked child's Library does not know the parent's open objects, which are dead there.
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
  int traffic_class() const { return traffic_class_; }  // IP TOS octet; -1: Config's

 private:
  const std::shared_ptr<Engine> engine_;
  const int traffic_class_;
};

class Library {
 public:
  // Returns the library of this process. A forked child gets a Library of its own, and leaves the parent's untouched:
  // the fork may have happened while the parent's was locked.
  static Library& get();

  // Makes a context, and starts the engine if there is none. `traffic_class`: IP TOS octet; -1: Config's. Errors: as
  // Config::from_environment() and Engine::start().
  Result<Context*> open(int traffic_class);
  // Returns the context for life; the first call makes this context. Errors: as open().
  Result<Context*> open_for_life();

  // Closes all objects that the context has open, then ends the context. Errors: internal (no such context).
  Status close(void* context);

  // Null: not started yet, or stopped.
  std::shared_ptr<Engine> engine();
  // Null: open_for_life() has not succeeded yet.
  Context* life_context();

  // True if NCCL's hints in *request count (NCCL_NET_OPTIONAL_RECV_COMPLETION): a hint marks a receive whose memory
  // NCCL reads while data lands.
  bool nccl_hints() const { return hints_; }

  // Returns a copy of `text` that lives as long as the process: NCCL keeps names by pointer.
  char* keep(const std::string& text);

  // Makes a T that the Library owns.
  template <class T, class... Args>
  T* add(Args&&... args) {
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* const raw = object.get();
    const MutexLock lock(mutex_);
    owned_.emplace(raw, std::move(object));
    return raw;
  }

  // Returns the T at `pointer`; null: no such object, or of another type. `pointer` is not dereferenced.
  template <class T>
  T* find(const void* pointer) {
    const MutexLock lock(mutex_);
    const auto found = owned_.find(pointer);
    return found == owned_.end() ? nullptr : dynamic_cast<T*>(found->second.get());
  }

  // As find(), and makes the caller the owner, who destroys the object outside the lock.
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
  Mutex init_mutex_;  // held while an engine starts or stops; locked before mutex_
  Mutex mutex_;
  std::weak_ptr<Engine> engine_ RW_GUARDED_BY(mutex_);
  std::atomic<bool> hints_{true};
  std::unordered_map<const void*, std::unique_ptr<Context>> contexts_ RW_GUARDED_BY(mutex_);
  Context* life_context_ RW_GUARDED_BY(mutex_) = nullptr;
  std::unordered_map<const void*, std::unique_ptr<Owned>> owned_ RW_GUARDED_BY(mutex_);
  std::unordered_set<std::string> kept_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave::nccl
