#include "deploy/kinds.h"

#include <fmt/format.h>

#include "deploy/pod_template.h"

namespace railweave::deploy {
namespace {

using Words = std::vector<std::string>;

constexpr int kMasterPort = 29500;
constexpr const char* kScript = "/opt/railweave/train.py";  // of the image of deploy/Dockerfile

Words command_or(const Request& request, Words otherwise) {
  return request.command.empty() ? otherwise : request.command;
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string host_of(const Request& request, int node) { return fmt::format("{}-{}", request.name, node); }

Json job_labels(const Request& request) { return {{"railweave-job", request.name}}; }

Document headless_service(const Request& request) {
  Json service = object("v1", "Service", request.name, request.name_space);
  service["spec"] = {{"clusterIP", "None"},
                     {"publishNotReadyAddresses", true},
                     {"selector", job_labels(request)},
                     {"ports", Json::array({{{"name", "rendezvous"}, {"port", kMasterPort}}})}};
  return {{"Gives each pod a name in DNS, from before it is ready. Only the ranks' meeting goes by the pod's default",
           "network; the data goes by the rails."},
          std::move(service)};
}

}  // namespace

std::vector<Document> pods(const Request& request, const Networks& networks) {
  std::vector<Document> documents{headless_service(request)};
  for (int node = 0; node < request.nodes; ++node) {
    const Words starter{"torchrun",
                        fmt::format("--nnodes={}", request.nodes),
                        fmt::format("--nproc-per-node={}", request.processes),
                        fmt::format("--node-rank={}", node),
                        fmt::format("--master-addr={}.{}", host_of(request, 0), request.name),
                        fmt::format("--master-port={}", kMasterPort)};
    const Json made = pod_template(request, networks, "train", joined(starter, command_or(request, {kScript})));
    Json pod = object("v1", "Pod", host_of(request, node), request.name_space);
    pod["metadata"]["labels"] = job_labels(request);
    if (made.contains("metadata")) pod["metadata"]["annotations"] = made["metadata"]["annotations"];
    pod["spec"] = {{"hostname", host_of(request, node)}, {"subdomain", request.name}, {"restartPolicy", "Never"}};
    pod["spec"].update(made["spec"]);
    documents.push_back({{}, std::move(pod)});
  }
  return documents;
}

std::vector<Document> trainjob(const Request& request, const Networks& networks) {
  constexpr const char* kVersion = "trainer.kubeflow.org/v1alpha1";
  Json runtime = object(kVersion, "ClusterTrainingRuntime", request.name, "");
  runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"] = "torch";
  const Json node{{"name", "node"},
                  {"template",
                   {{"metadata", {{"labels", {{"trainer.kubeflow.org/trainjob-ancestor-step", "trainer"}}}}},
                    {"spec", {{"template", pod_template(request, networks, "node", {})}}}}}};
  runtime["spec"] = {{"mlPolicy", {{"numNodes", request.nodes}, {"torch", Json::object()}}},
                     {"template", {{"spec", {{"replicatedJobs", Json::array({node})}}}}}};
  Json job = object(kVersion, "TrainJob", request.name, request.name_space);
  job["spec"] = {{"runtimeRef", {{"name", request.name}}},
                 {"trainer",
                  {{"numNodes", request.nodes},
                   {"numProcPerNode", request.processes},
                   {"command", joined({"torchrun"}, command_or(request, {kScript}))}}}};
  return {
      {{"The runtime has everything that makes the network fast. Several jobs may refer to it."}, std::move(runtime)},
      {{"Never set trainer.resourcesPerNode here: it replaces the container's resources, and with them the rails.",
        "The job would still run, slowly, and no error would appear."},
       std::move(job)}};
}

std::vector<Document> pytorchjob(const Request& request, const Networks& networks) {
  const Json pod = pod_template(request, networks, "pytorch", joined({"torchrun"}, command_or(request, {kScript})));
  const auto replicas = [&](int count) {
    return Json{{"replicas", count}, {"restartPolicy", "OnFailure"}, {"template", pod}};
  };
  Json job = object("kubeflow.org/v1", "PyTorchJob", request.name, request.name_space);
  job["spec"] = {{"nprocPerNode", std::to_string(request.processes)},
                 {"pytorchReplicaSpecs", {{"Master", replicas(1)}}}};
  if (request.nodes > 1) job["spec"]["pytorchReplicaSpecs"]["Worker"] = replicas(request.nodes - 1);
  return {{{"Master and Worker must say the same: a pod without rails makes all others slow."}, std::move(job)}};
}

std::vector<Document> mpijob(const Request& request, const Networks& networks) {
  Words start{"mpirun", "-np", std::to_string(request.nodes * request.processes)};
  // PATH and LD_LIBRARY_PATH: of the image, whose programs may be anywhere
  for (const std::string& name : joined({"PATH", "LD_LIBRARY_PATH"}, variable_names(request)))
    start = joined(start, {"-x", name});
  start = joined(start, command_or(request, {"all_reduce_perf", "-b", "8", "-e", "256M", "-f", "2"}));
  const Words listen{"/usr/sbin/sshd", "-De", "-f", "/home/railweave/.sshd_config"};
  Json job = object("kubeflow.org/v2beta1", "MPIJob", request.name, request.name_space);
  job["spec"] = {
      {"slotsPerWorker", request.processes},
      {"runPolicy", {{"cleanPodPolicy", "Running"}}},
      {"sshAuthMountPath", "/home/railweave/.ssh"},
      {"mpiReplicaSpecs",
       {{"Launcher", {{"replicas", 1}, {"template", launcher_template(request, "launcher", start)}}},
        {"Worker", {{"replicas", request.nodes}, {"template", pod_template(request, networks, "worker", listen)}}}}}};
  return {{{"The launcher carries no traffic, so it has no rails. sshd on a worker does not pass the variables of",
            "the container or of its image on: mpirun's -x passes the launcher's."},
           std::move(job)}};
}

}  // namespace railweave::deploy
