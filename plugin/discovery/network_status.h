// The networks of a Kubernetes pod, as Multus reports them: the pod's annotation k8s.v1.cni.cncf.io/network-status. A
// downward API volume shows the annotation to the pod as a file (docs/operate/kubernetes.md). Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "discovery/host_view.h"
#include "railweave/config.h"
#include "railweave/status.h"

namespace railweave::discovery {

// The bound of the file, bytes. Kubernetes allows 256 KiB for all annotations of a pod; one network takes about 300.
inline constexpr std::size_t kNetworkStatusBytesMax = 64 * KiB;

struct PodNetworks {
  std::string file;                     // empty: this process has no such file
  bool awaited = false;                 // the file is there and empty: kubelet writes the annotation later
  std::vector<std::string> cluster;     // interfaces of the pod's default network
  std::vector<std::string> additional;  // interfaces of the other networks, in the annotation's order
};

// Parses the annotation. Entries without an interface are left out. Errors: invalid_config, with the place.
Result<PodNetworks> parse_network_status(std::string_view text);

// Reads the file of RAILWEAVE_NETWORK_STATUS_FILE, or /etc/podinfo/network-status if that exists. Errors:
// invalid_config, for a file that was named and cannot be read, that is no regular file, or that is too large; and as
// parse_network_status(). The message names the file.
Result<PodNetworks> pod_networks(const Config& config, const HostView& host);

}  // namespace railweave::discovery
