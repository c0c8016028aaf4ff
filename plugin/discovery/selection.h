// Selects the interfaces that become rails. The user named them (named.cc), or a pod has networks for them (pod.cc), or
// rules choose (automatic.cc). Pure functions, but for select(), which may read a file.
#pragma once

#include <string>
#include <vector>

#include "discovery/interface.h"
#include "discovery/name_list.h"
#include "discovery/network_status.h"
#include "railweave/config.h"
#include "railweave/status.h"

namespace railweave::discovery {

struct Selection {
  std::vector<std::size_t> taken;     // indices of interfaces, in rail order
  std::vector<std::string> reasons;   // for every interface: why taken, or why left out
  bool link_pending = false;          // an interface that would be taken is up and has no carrier yet
  bool address_pending = false;       // an interface that would be taken waits for IPv6 duplicate detection
  bool better_pending = false;        // by rules only: a pending interface is of a better kind than those in `taken`
  bool networks_pending = false;      // the pod's network status is there and empty
  std::vector<std::string> warnings;  // whole log lines
};

// Errors: invalid_config for an ill-formed list, and for a name that no interface has; the message lists the
// interfaces. Also the errors of pod_networks(), which is asked unless the user named interfaces. No usable interface
// is no error here; `taken` is empty then.
Result<Selection> select(const Config& config, const HostView& host, const std::vector<Interface>& all);

// The steps of select(): by RAILWEAVE_RAILS, by an including NCCL_SOCKET_IFNAME, by a pod's networks, and by rules.
// REQUIRES: `names` is not empty; `list` includes; `excluded` is an excluding list or null.
Result<Selection> select_rails(const std::vector<std::string>& names, const std::vector<Interface>& all);
Result<Selection> select_listed(const NameList& list, const std::string& text, const std::vector<Interface>& all);
Selection select_pod(const PodNetworks& pod, const NameList* excluded, const std::vector<Interface>& all);
Selection select_automatic(const NameList* excluded, const std::vector<Interface>& all);

// Takes interface `index` if it is usable. Its reason is `why`, or also why it is unusable.
void take_if_usable(const std::vector<Interface>& all, std::size_t index, const std::string& why, Selection& selection);

// Returns why the interface cannot carry traffic: "down", "no carrier", "no address"... Empty: usable.
std::string unusable(const Interface& interface);

// Sets link_pending or address_pending in `selection` if the unusable `interface` may become usable soon.
void note_pending(const Interface& interface, Selection& selection);

// True if `a` comes before `b`. By PCI path, then by name ("eth2" before "eth10"); interfaces without a PCI path come
// last. The order is the same on every start of a host.
bool rail_order(const Interface& a, const Interface& b);

// Returns the names as "a, b and 3 more", about `bytes_max` bytes at most; "none" without an interface.
std::string list_names(const std::vector<Interface>& all, std::size_t bytes_max = 400);

}  // namespace railweave::discovery
