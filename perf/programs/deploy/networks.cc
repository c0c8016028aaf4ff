#include "deploy/networks.h"

#include <fmt/format.h>

#include <map>

namespace railweave::deploy {
namespace {

constexpr int kFirstOfStableDra = 34;  // Kubernetes 1.34 brought resource.k8s.io/v1; 1.33 has v1beta2

std::string rail_name(const Request& request, int nic) { return fmt::format("{}-rail{}", request.name, nic); }

// Selects the NICs that DRANET may move into a pod: real ones whose link is up. DRANET itself leaves out the NIC that
// has the host's default route.
constexpr const char* kUsableNic =
    "device.driver == \"dra.net\" &&\n"
    "has(device.attributes[\"dra.net\"].virtual) && !device.attributes[\"dra.net\"].virtual &&\n"
    "has(device.attributes[\"dra.net\"].state) && device.attributes[\"dra.net\"].state == \"up\"";

Networks by_dra(const Request& request) {
  const std::string version = request.kubernetes < kFirstOfStableDra ? "resource.k8s.io/v1beta2" : "resource.k8s.io/v1";
  const std::string device_class = request.name + "-nic";
  Networks networks;
  Json chooses = object(version, "DeviceClass", device_class, "");
  chooses["spec"]["selectors"] = Json::array({{{"cel", {{"expression", kUsableNic}}}}});
  networks.documents.push_back(
      {{"The NICs that a pod may get, by DRANET (the driver dra.net). A NIC needs an address on "
        "its host:",
        "DRANET moves the address into the pod with the NIC."},
       std::move(chooses)});
  Json claim = object(version, "ResourceClaimTemplate", request.name + "-nics", request.name_space);
  claim["spec"]["spec"]["devices"]["requests"] =
      Json::array({{{"name", "rails"}, {"exactly", {{"deviceClassName", device_class}, {"count", request.nics}}}}});
  networks.documents.push_back({{"Each pod gets a claim of its own, with this many NICs."}, std::move(claim)});
  networks.pod_claims = Json::array({{{"name", "rails"}, {"resourceClaimTemplateName", request.name + "-nics"}}});
  networks.container_claims = Json::array({{{"name", "rails"}}});
  return networks;
}

// The CNI configuration of one rail. `plugin`: what makes the interface. By default Linux answers ARP for all addresses
// of a pod on each interface; `tuning` ends this.
std::string cni_config(const std::string& name, Json plugin, const std::string& subnet) {
  plugin["ipam"] = {{"type", "whereabouts"}, {"range", subnet}};
  const Json tuning{{"type", "tuning"},
                    {"sysctl",
                     {{"net.ipv4.conf.IFNAME.arp_ignore", "1"},
                      {"net.ipv4.conf.IFNAME.arp_announce", "2"},
                      {"net.ipv4.conf.IFNAME.rp_filter", "2"}}}};
  const Json config{{"cniVersion", "1.0.0"}, {"name", name}, {"plugins", Json::array({std::move(plugin), tuning})}};
  return config.dump(2);
}

Document attachment(const Request& request, int nic) {
  const std::size_t i = static_cast<std::size_t>(nic);
  const std::string name = rail_name(request, nic);
  Json body = object("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", name, request.name_space);
  Json plugin{{"type", "sriov"}};
  if (request.via == Via::sriov) {
    body["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] = request.resources[i];
  } else {
    plugin = {{"type", "macvlan"}, {"master", request.interfaces[i]}, {"mode", "bridge"}};
  }
  body["spec"]["config"] = cni_config(name, std::move(plugin), request.subnets[i]);
  const std::string what = request.via == Via::sriov ? "a virtual function of " + request.resources[i]
                                                     : "a macvlan interface on each host's " + request.interfaces[i];
  return {{fmt::format("Rail {}: {}.", nic, what)}, std::move(body)};
}

Networks by_multus(const Request& request) {
  Networks networks;
  networks.has_status = true;
  std::string names;
  std::map<std::string, int> counts;  // by resource: several rails may be of one
  for (int nic = 0; nic < request.nics; ++nic) {
    networks.documents.push_back(attachment(request, nic));
    names += (nic ? "," : "") + rail_name(request, nic);
    if (request.via == Via::sriov) ++counts[request.resources[static_cast<std::size_t>(nic)]];
  }
  networks.annotations["k8s.v1.cni.cncf.io/networks"] = names;
  for (const auto& [resource, count] : counts) networks.devices[resource] = std::to_string(count);
  return networks;
}

}  // namespace

Networks networks_of(const Request& request) { return request.via == Via::dra ? by_dra(request) : by_multus(request); }

}  // namespace railweave::deploy
