#include "nccl/library.h"

#include "base/log.h"
#include "nccl/abi/net.h"

namespace railweave::nccl {
namespace {

void announce(const Config& config, const Engine& engine) {
  std::string rails;
  for (const Rail& rail : engine.rails())
    rails += fmt::format("{}{} ({:g} Gb/s{})", rails.empty() ? "" : ", ", rail.name, rail.speed.megabits() / 1000,
                         rail.speed_known ? "" : " assumed");
  RW_INFO(init, "rails {}; devices {}", rails, engine.devices().size());
  for (const std::string& override_text : config.overrides()) RW_INFO(env, "{}", override_text);
}

}  // namespace

Library& Library::get() {
  static constinit std::atomic<Library*> current{nullptr};
  Library* library = current.load(std::memory_order_acquire);
  if (library && !library->origin_.in_child()) return *library;
  auto* const fresh = new Library;
  if (current.compare_exchange_strong(library, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;  // another thread was first
  return *library;
}

Result<std::shared_ptr<Engine>> Library::running_engine() {
  if (auto engine = this->engine()) return engine;
  auto config = Config::from_environment();
  if (!config.ok()) return config.status();
  auto started = Engine::start(config.value());
  if (!started.ok()) return started.status();
  announce(config.value(), *started.value());
  hints_ = config->optional_completion;
  const MutexLock lock(mutex_);
  engine_ = started.value();
  return started;
}

Result<Context*> Library::open(int traffic_class) {
  const MutexLock starting(init_mutex_);
  return open_locked(traffic_class);
}

Result<Context*> Library::open_locked(int traffic_class) {
  auto engine = running_engine();
  if (!engine.ok()) return engine.status();
  auto context = std::make_unique<Context>(std::move(engine.value()), traffic_class);
  Context* const raw = context.get();
  const MutexLock lock(mutex_);
  contexts_.emplace(raw, std::move(context));
  return raw;
}

Result<Context*> Library::open_for_life() {
  const MutexLock starting(init_mutex_);
  if (Context* context = life_context()) return context;
  auto context = open_locked(abi::kTrafficClassUndefined);
  if (!context.ok()) return context;
  const MutexLock lock(mutex_);
  life_context_ = context.value();
  return context;
}

Status Library::close(void* context) {
  const MutexLock stopping(init_mutex_);
  std::unique_ptr<Context> closing;
  {
    const MutexLock lock(mutex_);
    const auto found = contexts_.find(context);
    if (found == contexts_.end() || found->first == life_context_)
      return Status(Code::internal, Scope::engine, "finalize of a context that init did not make");
    closing = std::move(found->second);
    contexts_.erase(found);
  }
  const auto leaked = take_all_of(closing.get());
  if (!leaked.empty()) RW_INFO(net, "finalize: closes {} comms that NCCL left open", leaked.size());
  return {};  // destroys leaked objects first, then the context, and with the last context the engine
}

std::vector<std::unique_ptr<Owned>> Library::take_all_of(const Context* context) {
  std::vector<std::unique_ptr<Owned>> taken;
  const MutexLock lock(mutex_);
  for (auto it = owned_.begin(); it != owned_.end();) {
    if (it->second->owner != context) {
      ++it;
      continue;
    }
    taken.push_back(std::move(it->second));
    it = owned_.erase(it);
  }
  return taken;
}

std::shared_ptr<Engine> Library::engine() {
  const MutexLock lock(mutex_);
  return engine_.lock();
}

Context* Library::life_context() {
  const MutexLock lock(mutex_);
  return life_context_;
}

char* Library::keep(const std::string& text) {
  const MutexLock lock(mutex_);
  return const_cast<char*>(kept_.insert(text).first->c_str());  // NCCL's member is char*, and is never written through
}

}  // namespace railweave::nccl
