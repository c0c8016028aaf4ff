// The thread of an RDMA device: it runs commands that may block, one after another, and waits for input on one
// descriptor meanwhile. A command to a dying device can take half a minute, so no other thread runs one.
//
// Lifetime: the thread ends by itself after the last command, and nobody waits for the thread. exit() does not wait,
// either. A call into the kernel that cannot be interrupted still delays the end of the process, by the kernel's rules.
// Our library stays in memory even after dlclose(), because the thread may still run its code.
// Fork: the thread does not exist in a child, and its lock may be locked there. In a child every call does nothing.
// Threads: any.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/process_origin.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::wire::verbs {

// Does not throw.
using Command = std::function<void()>;

class DeviceThread {
 public:
  // All are called on the thread, between commands.
  struct Input {
    std::function<int()> descriptor;  // returns the descriptor to wait for; -1: none, now
    Command read;                     // called when the descriptor has input, or an error
    Command check = [] {};            // called after each second without commands and input, if there is a descriptor
  };

  // `name`: at most 15 characters. Errors: exhausted (no thread or no descriptor).
  static Result<std::unique_ptr<DeviceThread>> start(const std::string& name, Input input);
  // The thread runs the commands given so far, then ends.
  ~DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  // Runs the command after all commands given before.
  void run(Command command);
  // The same without allocating memory: moves all of `commands`.
  void run(std::list<Command>& commands);
  // Runs `last` after all commands given before, then ends the thread. The object can be destroyed at once.
  void finish(std::list<Command>& last);
  // Returns for how long the present command has been running; 0: none is.
  Nanos busy_for() const;

 private:
  struct Shared;  // with the thread

  explicit DeviceThread(std::shared_ptr<Shared> shared);

  std::shared_ptr<Shared> shared_;
  const ProcessOrigin origin_;
};

}  // namespace railweave::wire::verbs
