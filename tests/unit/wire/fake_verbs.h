// RDMA devices in memory, behind a table of libibverbs' calls, for tests of the verbs wire without hardware.
//
// Queue pairs of all fake devices reach each other by number, whether on one device or on two. A SEND lands in the
// oldest posted receive slot of the peer. The fake holds the wire to the rules of the real library: a block that finds
// no receive slot, an object that is destroyed while another one needs it, events that are not acknowledged, and calls
// in the wrong state are failures of the test.
//
// Lifetime: one object at a time. The destructor lets held calls go and waits until every device is closed.
// Threads: any.
#pragma once

#if __has_include(<infiniband/verbs.h>)

#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "railweave/device.h"
#include "wire/verbs/api.h"
#include "wire/verbs/gid.h"
#include "wire/verbs/host.h"

namespace railweave::wire::verbs {

class FakeVerbs {
 public:
  FakeVerbs();
  ~FakeVerbs();
  FakeVerbs(const FakeVerbs&) = delete;
  FakeVerbs& operator=(const FakeVerbs&) = delete;

  const Api& api() const { return api_; }
  // Returns a host with this library, without a limit of pinned memory.
  VerbsHost host() const;

  // --- devices; each has port 1, which is active, Ethernet, with a path MTU of 4096 bytes
  void add_device(const std::string& name);
  // Ends the device as the kernel does: it leaves the list, reports its end, and its calls fail.
  void remove_device(const std::string& name);
  // Says where the device's folder in sysfs is, before the device is opened. Without it the device has none.
  void set_presence(const std::string& device, const std::string& folder);
  void add_gid(const std::string& device, const GidEntry& entry);
  void remove_gid(const std::string& device, const Gid& gid);
  void set_port(const std::string& device, ibv_port_state state, ibv_mtu mtu = IBV_MTU_4096,
                std::uint8_t link_layer = IBV_LINK_LAYER_ETHERNET);
  // Adds a device with one GID, and returns the rail that the GID belongs to: NAME, interface `ifindex`, address
  // 10.0.0.`ifindex`.
  Rail add_rail(const std::string& device, const std::string& rail, int ifindex);

  // --- faults
  // Each is the errno with which calls fail; 0: they do not.
  struct Faults {
    int open_device = 0, reg_mr = 0, create_qp = 0, modify_qp = 0, post_send = 0;
    std::uint32_t short_posts = 0;  // one post in so many is refused with ENOMEM; 0: none
    bool loses_sends = false;       // SENDs neither arrive nor complete
  };
  void set_faults(const Faults& faults);
  // Lets calls of this name wait until release(): "destroy_qp", "create_qp" or "modify_qp".
  void hold(const std::string& call);
  void release();

  // --- news of the device
  // Adds a completion to the queue of this queue pair: of a request of number `request`.
  void complete(std::uint32_t qpn, ibv_wc_status status, std::uint64_t request = 0);
  // Raises an event of the queue pair, or of its completion queue.
  void raise(std::uint32_t qpn, ibv_event_type event);
  void raise_of_port(const std::string& device, ibv_event_type event);

  // --- what the wire did
  struct Counts {
    int contexts = 0, domains = 0, regions = 0, queues = 0, pairs = 0;  // alive
    int opened = 0, made = 0, connected = 0;                            // devices and queue pairs, since the beginning
    int waiting = 0;                                                    // calls that are held
    int acknowledged = 0;                                               // asynchronous events
    int forks = 0;                                                      // calls of ibv_fork_init
  };
  Counts counts() const;
  // Waits until the counts are so. False: they were not within 20 s.
  bool wait_until(const std::function<bool(const Counts&)>& condition) const;
  // Returns the attributes that made the newest connected queue pair ready to receive.
  ibv_qp_attr newest_path() const;
  // Returns the number of the newest queue pair that was connected.
  std::uint32_t newest_connected() const;

  struct World;  // devices and objects, in the source only

 private:
  Api api_;
  const std::unique_ptr<World> world_;
};

}  // namespace railweave::wire::verbs
#endif
