// The commands to an open RDMA device: finds GIDs, makes, connects and destroys queue pairs, and reads the device's
// events. Any of them may block, for half a minute if the device is dying, so all run on the device's thread. Listing
// and opening devices is not among them (devices.h).
//
// Events: an error of a queue pair or of its completion queue marks the queue pair as failed. The end of the device
// marks all of them; no new ones are made, and the device is closed when the last one is destroyed, because the kernel
// waits for this before it lets the driver go. Other events are logged. Drivers without hardware (rxe, siw) report no
// end, so the thread looks for the device in sysfs once a second.
// Threads: the device's (device_thread.h), but is_gone().
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "railweave/status.h"
#include "wire/verbs/gid.h"
#include "wire/verbs/host.h"
#include "wire/verbs/pinned_memory.h"
#include "wire/verbs/queue_pair.h"

namespace railweave::wire::verbs {

class DeviceCommands {
 public:
  // Takes the open device `context`. `pinned`: lives as long as the process.
  DeviceCommands(const VerbsHost& host, ibv_context* context, std::string name, std::uint64_t guid,
                 PinnedMemory& pinned);
  ~DeviceCommands();  // REQUIRES: close() was called
  DeviceCommands(const DeviceCommands&) = delete;
  DeviceCommands& operator=(const DeviceCommands&) = delete;

  // The port of a rail, as it is now.
  struct RailPort {
    GidEntry gid;
    std::uint8_t mtu = 0;  // enum ibv_mtu
  };
  // Finds the rail's GID. Errors: invalid_config (no such GID, a port that is not active or not Ethernet, or the device
  // is gone).
  Result<RailPort> find(const RailIdentity& rail);
  // Returns a queue pair for the rail, which the caller gives back by destroy(): the one that prepare() made, or a new
  // one. Errors: as find(); exhausted (pinned memory), system.
  Result<QueuePair*> make(const RailIdentity& rail);
  // Makes a queue pair in advance for the next make() on this port, if the limit of pinned memory has room for several.
  void prepare(std::uint32_t port);
  // Connects the queue pair; QueuePair::connected() has the outcome.
  void connect(QueuePair& pair, const ChannelAddress& peer, std::uint8_t traffic_class);
  void destroy(QueuePair* pair);

  // The descriptor of the device's events; -1: none any more.
  int event_descriptor() const { return reads_events_ ? context_->async_fd : -1; }
  void read_events();
  // Treats a device that has left sysfs as one that reported its end.
  void check_presence();
  // Ends what is left, and closes the device.
  void close();

  // True: the device reported its end, and will make no queue pair any more. Any thread.
  bool is_gone() const { return gone_.load(std::memory_order_acquire); }

 private:
  Result<std::unique_ptr<QueuePair>> create(std::uint8_t port);
  Status check_port(std::uint8_t port, ibv_port_attr& attributes);
  void destroy_owned(std::unique_ptr<QueuePair> pair);
  void keep_unended(std::unique_ptr<QueuePair> pair);
  void handle(const ibv_async_event& event);
  void lose_device(const char* why);
  void close_if_unused();
  Status no_device() const;

  const VerbsHost host_;
  const Api& api_;
  ibv_context* context_;  // null: closed
  const std::string name_;
  const std::uint64_t guid_;
  const std::string presence_;  // folder in sysfs that exists while the device is there
  const ino_t presence_inode_;  // of the folder; 0: there was none. A later device may have the same name
  PinnedMemory& pinned_;
  ibv_pd* domain_ = nullptr;                                      // null: no lane began yet
  std::map<std::uint32_t, std::unique_ptr<QueuePair>> prepared_;  // by port
  std::unordered_set<QueuePair*> lent_;                           // made, and not given back
  bool has_unended_ = false;  // the device refused to end a queue pair, so the rest stays open, too
  int next_vector_ = 0;
  bool reads_events_ = true;
  std::atomic<bool> gone_{false};
};

}  // namespace railweave::wire::verbs
