// The choice of interfaces in a Kubernetes pod whose networks are known: those of its additional networks. A cluster
// gives a pod these networks for fast traffic, so the default network is left out even if an additional one is down.
#include <fmt/format.h>
#include <algorithm>

#include "discovery/selection.h"

namespace railweave::discovery {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Returns why the interface is no rail, apart from whether it is usable. Empty: it is one of the additional networks.
std::string left_out(const PodNetworks& pod, const NameList* excluded, const Interface& interface) {
  const std::string& name = interface.link.name;
  if (excluded && excluded->matches(name)) return "excluded by NCCL_SOCKET_IFNAME";
  if (interface.link.loopback) return "loopback: only when named";
  if (contains(pod.additional, name)) return {};
  return contains(pod.cluster, name) ? "the pod's default network, and there are additional ones"
                                     : "not among the pod's additional networks";
}

}  // namespace

Selection select_pod(const PodNetworks& pod, const NameList* excluded, const std::vector<Interface>& all) {
  std::vector<std::size_t> candidates;
  std::vector<std::string> reasons, missing = pod.additional;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::erase(missing, all[i].link.name);
    if (reasons.emplace_back(left_out(pod, excluded, all[i])).empty()) candidates.push_back(i);
  }
  Selection selection;
  if (candidates.empty()) {
    selection = select_automatic(excluded, all);
  } else {
    selection.reasons = std::move(reasons);
    std::ranges::sort(candidates, [&](std::size_t a, std::size_t b) { return rail_order(all[a], all[b]); });
    for (const std::size_t i : candidates) take_if_usable(all, i, "an additional network of the pod", selection);
  }
  selection.networks_pending = pod.awaited;
  if (pod.awaited) {
    selection.warnings.push_back(fmt::format(
        "network status {}: empty, so rails are chosen by rules; the pod has no annotation "
        "k8s.v1.cni.cncf.io/network-status, or kubelet has not written it yet; RAILWEAVE_RAILS can name the rails",
        pod.file));
  }
  for (const std::string& name : missing) {
    selection.warnings.push_back(fmt::format("network status {}: no interface is called \"{}\"; there are: {}",
                                             pod.file, name.substr(0, 64), list_names(all)));
  }
  return selection;
}

}  // namespace railweave::discovery
