#include "deploy/pod_template.h"

namespace railweave::deploy {
namespace {

constexpr int kUser = 1000;  // of the image of deploy/Dockerfile; its group, too
constexpr int kOwnerReads = 0400;
constexpr const char* kKeyFolder = "/etc/railweave";
constexpr const char* kKeyFile = "/etc/railweave/key";
constexpr const char* kNetworkStatus = "metadata.annotations['k8s.v1.cni.cncf.io/network-status']";

Json variables(const Request& request) {
  Json list = Json::array({{{"name", "NCCL_NET_PLUGIN"}, {"value", "railweave"}},
                           {{"name", "NCCL_NET"}, {"value", "Railweave"}},
                           {{"name", "NCCL_NET_PLUGIN_REF_COUNT"}, {"value", "1"}}});
  if (!request.key_secret.empty()) list.push_back({{"name", "RAILWEAVE_KEY_FILE"}, {"value", kKeyFile}});
  return list;
}

// The container's resources; null: none. A device counts as requested if it has a limit.
Json resources(const Request& request, const Networks& networks) {
  Json resources;
  if (!networks.devices.is_null()) resources["limits"] = networks.devices;
  if (request.gpus > 0) resources["limits"]["nvidia.com/gpu"] = std::to_string(request.gpus);
  if (!networks.container_claims.is_null()) resources["claims"] = networks.container_claims;
  return resources;
}

void add_volume(Json& pod, Json& container, const std::string& name, const std::string& path, Json source,
                bool read_only) {
  Json mount{{"name", name}, {"mountPath", path}};
  if (read_only) mount["readOnly"] = true;
  container["volumeMounts"].push_back(std::move(mount));
  Json volume{{"name", name}};
  volume.update(source);
  pod["volumes"].push_back(std::move(volume));
}

void add_volumes(const Request& request, bool has_status, Json& pod, Json& container) {
  add_volume(pod, container, "shm", "/dev/shm", {{"emptyDir", {{"medium", "Memory"}, {"sizeLimit", "1Gi"}}}}, false);
  if (has_status) {
    const Json item{{"path", "network-status"}, {"fieldRef", {{"fieldPath", kNetworkStatus}}}};
    add_volume(pod, container, "podinfo", "/etc/podinfo", {{"downwardAPI", {{"items", Json::array({item})}}}}, true);
  }
  if (!request.key_secret.empty()) {
    const Json secret{{"secretName", request.key_secret},
                      {"defaultMode", kOwnerReads},
                      {"items", Json::array({{{"key", "key"}, {"path", "key"}}})}};
    add_volume(pod, container, "key", kKeyFolder, {{"secret", secret}}, true);
  }
}

Json template_of(const Request& request, const Networks& networks, const std::string& name,
                 const std::vector<std::string>& command) {
  Json container{{"name", name}, {"image", request.image}};
  if (!command.empty()) container["command"] = command;
  container["env"] = variables(request);
  if (Json wanted = resources(request, networks); !wanted.is_null()) container["resources"] = std::move(wanted);
  container["securityContext"] = {{"allowPrivilegeEscalation", false}};
  Json pod{{"securityContext",
            {{"runAsNonRoot", true},
             {"runAsUser", kUser},
             {"runAsGroup", kUser},
             {"fsGroup", kUser},
             {"seccompProfile", {{"type", "RuntimeDefault"}}}}}};
  if (!networks.pod_claims.is_null()) pod["resourceClaims"] = networks.pod_claims;
  add_volumes(request, networks.has_status, pod, container);
  pod["containers"] = Json::array({std::move(container)});
  Json whole;
  if (!networks.annotations.is_null()) whole["metadata"]["annotations"] = networks.annotations;
  whole["spec"] = std::move(pod);
  return whole;
}

}  // namespace

Json pod_template(const Request& request, const Networks& networks, const std::string& container,
                  const std::vector<std::string>& command) {
  return template_of(request, networks, container, command);
}

Json launcher_template(const Request& request, const std::string& container, const std::vector<std::string>& command) {
  Request no_devices = request;
  no_devices.gpus = 0;
  return template_of(no_devices, Networks(), container, command);
}

std::vector<std::string> variable_names(const Request& request) {
  std::vector<std::string> names;
  for (const Json& variable : variables(request)) names.push_back(variable["name"].get<std::string>());
  return names;
}

}  // namespace railweave::deploy
