#include "wire/verbs/device_thread.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/loaded_code.h"
#include "base/mutex.h"
#include "base/service_thread.h"

namespace railweave::wire::verbs {

struct DeviceThread::Shared {
  OwnedFd wake;  // an eventfd, readable when commands came
  Input input;
  mutable Mutex mutex;
  std::list<Command> commands RW_GUARDED_BY(mutex);
  bool finishing RW_GUARDED_BY(mutex) = false;        // no command comes any more
  TimePoint command_began RW_GUARDED_BY(mutex) = {};  // of the present command; zero: none runs

  void add(std::list<Command>& more, bool last) {
    {
      const MutexLock lock(mutex);
      commands.splice(commands.end(), more);
      finishing = finishing || last;
    }
    (void)::eventfd_write(wake.get(), 1);  // fails only if the thread is awake anyway
  }

  void serve();
  bool run_commands();
  void wait_for_news();
};

// Each command is destroyed before the next one runs, because it may hold what the next one ends.
bool DeviceThread::Shared::run_commands() {
  MutexLock lock(mutex);
  while (!commands.empty()) {
    std::list<Command> next;
    next.splice(next.begin(), commands, commands.begin());
    command_began = now();
    lock.unlock();
    next.front()();
    next.clear();
    lock.lock();
    command_began = {};
  }
  return !finishing;
}

void DeviceThread::Shared::wait_for_news() {
  pollfd ready[2] = {{wake.get(), POLLIN, 0}, {input.descriptor(), POLLIN, 0}};
  constexpr int kCheckMs = 1000;
  const int n = ::poll(ready, 2, ready[1].fd < 0 ? -1 : kCheckMs);
  if (n == 0) input.check();
  if (n <= 0) return;
  eventfd_t count = 0;
  if (ready[0].revents != 0) (void)::eventfd_read(wake.get(), &count);
  if (ready[1].revents != 0) input.read();
}

void DeviceThread::Shared::serve() {
  while (run_commands()) wait_for_news();
}

Result<std::unique_ptr<DeviceThread>> DeviceThread::start(const std::string& name, Input input) {
  keep_code_loaded();
  auto shared = std::make_shared<Shared>();
  shared->input = std::move(input);
  shared->wake.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!shared->wake) return system_error(Scope::engine, "eventfd of the thread " + name);
  std::thread thread;
  RW_TRY(start_service_thread(thread, name.c_str(), [shared] { shared->serve(); }));
  thread.detach();
  return std::unique_ptr<DeviceThread>(new DeviceThread(std::move(shared)));
}

DeviceThread::DeviceThread(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

DeviceThread::~DeviceThread() {
  if (origin_.in_child()) {
    (void)new std::shared_ptr<Shared>(std::move(shared_));  // its descriptor and lock are the parent's, too
    return;
  }
  std::list<Command> none;
  shared_->add(none, true);
}

void DeviceThread::run(Command command) {
  std::list<Command> one;
  one.push_back(std::move(command));
  run(one);
}

void DeviceThread::run(std::list<Command>& commands) {
  if (!origin_.in_child()) shared_->add(commands, false);
}

void DeviceThread::finish(std::list<Command>& last) {
  if (!origin_.in_child()) shared_->add(last, true);
}

Nanos DeviceThread::busy_for() const {
  if (origin_.in_child()) return Nanos(0);
  const MutexLock lock(shared_->mutex);
  return shared_->command_began == TimePoint{} ? Nanos(0) : now() - shared_->command_began;
}

}  // namespace railweave::wire::verbs
