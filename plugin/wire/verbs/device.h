// An open RDMA device of this process, shared by the ports and lanes on it.
//
// The device has a thread of its own (device_thread.h), which runs every command that may block. The calls below only
// ask the thread, and wait for an answer for a bounded time. A healthy device answers within a millisecond.
//
// Lifetime: the device stays open as long as somebody holds the object or one of its queue pairs. Nobody waits for the
// end: the thread destroys what is left and closes the device. So a device that takes half a minute to destroy a queue
// pair delays no close, no deregistration and no exit. The kernel ends what is left when the process has exited.
// Fork: in a child every call fails or does nothing, and the parent's objects stay as they are.
// Threads: any.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/process_origin.h"
#include "railweave/status.h"
#include "railweave/units.h"
#include "wire/verbs/device_commands.h"
#include "wire/verbs/device_thread.h"

namespace railweave::wire::verbs {

class Device;

// Passes a queue pair to the device's thread, which destroys it. Does not wait.
class RetireQueuePair {
 public:
  RetireQueuePair() = default;
  explicit RetireQueuePair(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  void operator()(QueuePair* pair) const;
  Device& device() const { return *device_; }

 private:
  std::shared_ptr<Device> device_;
};
using OwnedQueuePair = std::unique_ptr<QueuePair, RetireQueuePair>;

class Device : public std::enable_shared_from_this<Device> {
 public:
  // The longest wait for the thread. Longer than any healthy device takes, and short enough for a reactor.
  static constexpr Nanos kPatience = std::chrono::milliseconds(200);
  // The same when a port is opened, which happens seldom. A busy host, as at the start of a job, may give the thread no
  // core for long, and a rail whose port is not opened has no RDMA.
  static constexpr Nanos kPatienceOfOpen = std::chrono::seconds(1);

  // Opens the device and starts its thread. `pinned`: lives as long as the process.
  // Errors: invalid_config (no permission, or the device's file is not in this container), exhausted, system.
  static Result<std::shared_ptr<Device>> open(const VerbsHost& host, ibv_device* listed, PinnedMemory& pinned);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  const VerbsHost& host() const { return host_; }
  // True: this is the listed device, and it works. A device that was removed and added again is another one.
  bool is(const Api& api, const ibv_device* listed) const;

  // Checks that the rail has a GID on this device, and that its port is active.
  // Errors: invalid_config (what is missing), exhausted (no answer in time), system.
  Status check(const RailIdentity& rail, Nanos patience = kPatience);
  // Returns a queue pair for a lane of the rail. Errors: as check(); exhausted (pinned memory), too.
  Result<OwnedQueuePair> make_queue_pair(const RailIdentity& rail, Nanos patience = kPatience);
  // Begins to connect; the queue pair says when that has ended.
  void connect(QueuePair& pair, const ChannelAddress& peer, std::uint8_t traffic_class);

 private:
  friend class RetireQueuePair;
  Device(const VerbsHost& host, const ibv_device* listed, std::string name, std::shared_ptr<DeviceCommands> commands);

  template <class Value>
  struct Pending;

  template <class Answer>
  Result<Answer> ask(const char* what, Nanos patience, std::function<Result<Answer>()> command);
  void retire(QueuePair* pair);
  Status late(const char* what, Nanos patience, Nanos busy) const;

  const VerbsHost host_;
  const ibv_device* const listed_;
  const std::string name_;
  const ProcessOrigin origin_;
  const std::shared_ptr<DeviceCommands> commands_;  // for the thread
  std::unique_ptr<DeviceThread> thread_;
  std::list<Command> last_;  // the command that closes the device, made in advance
};

}  // namespace railweave::wire::verbs
