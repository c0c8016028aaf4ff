// `railweave deploy render`: manifests of a job for Kubernetes, on stdout.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "commands/commands.h"
#include "common/console.h"
#include "deploy/render.h"

namespace railweave::commands {
namespace {

using deploy::Kind;
using deploy::Request;
using deploy::Via;

const std::map<std::string, Via> kVias{{"dra", Via::dra}, {"multus", Via::multus}, {"sriov", Via::sriov}};
const std::map<std::string, Kind> kKinds{
    {"pod", Kind::pod}, {"trainjob", Kind::trainjob}, {"pytorchjob", Kind::pytorchjob}, {"mpijob", Kind::mpijob}};

// A request, with words in place of what they stand for.
struct Options {
  Request request;
  std::string via, kind = "pod", kubernetes = fmt::format("1.{}", deploy::kKubernetesDefault);
};

const std::map<std::string, int>& kubernetes_versions() {
  static const auto* const versions = [] {
    auto* const all = new std::map<std::string, int>;
    for (int minor = deploy::kKubernetesMin; minor <= deploy::kKubernetesMax; ++minor)
      all->emplace(fmt::format("1.{}", minor), minor);
    return all;
  }();
  return *versions;
}

void add_network_options(CLI::App& command, Options& options) {
  Request& request = options.request;
  command.add_option("--nics", request.nics, "rails of each pod (2)");
  command.add_option("--via", options.via, "how pods get NICs: dra (DRANET), multus (macvlan), sriov (Multus, SR-IOV)")
      ->required()
      ->check(CLI::IsMember(kVias))
      ->type_name("WAY");
  command.add_option("--interfaces", request.interfaces, "multus: the hosts' NICs (eth1,eth2,...)")->delimiter(',');
  command
      .add_option("--resources", request.resources, "sriov: resources of the device plugin (openshift.io/rail0,...)")
      ->delimiter(',');
  command
      .add_option("--subnets", request.subnets,
                  "multus, sriov: subnet of each rail (192.168.10.0/24,192.168.11.0/24,...)")
      ->delimiter(',');
}

void add_job_options(CLI::App& command, Options& options) {
  Request& request = options.request;
  command.add_option("--kind", options.kind, "what starts the ranks (pod)")
      ->check(CLI::IsMember(kKinds))
      ->type_name("KIND");
  command.add_option("--kubernetes", options.kubernetes, "the cluster's version (1.34)")
      ->check(CLI::IsMember(kubernetes_versions()))
      ->type_name("VERSION");
  command.add_option("--name", request.name, "name of the job (railweave)");
  command.add_option("--namespace", request.name_space, "namespace of the job (kubectl's)");
  command.add_option("--image", request.image, "image of the containers (railweave:latest, see deploy/Dockerfile)");
  command.add_option("--nodes", request.nodes, "pods that carry traffic (2)");
  command.add_option("--processes", request.processes, "ranks in each pod (0: one for each GPU, or one without GPUs)");
  command.add_option("--gpus", request.gpus, "GPUs of each pod (0)");
  command.add_option("--key-secret", request.key_secret, "a Secret whose entry `key` is the job's key (no key)");
  command.add_option("command", request.command,
                     "behind --: a script and its arguments, for torchrun (a small training script);\n"
                     "of an mpijob, the command for mpirun (all_reduce_perf)");
}

// A request that cannot be rendered is a wrong command line.
void print(const Options& options) {
  Request request = options.request;
  request.via = kVias.at(options.via);
  request.kind = kKinds.at(options.kind);
  request.kubernetes = kubernetes_versions().at(options.kubernetes);
  const Result<std::string> manifests = deploy::render(request);
  if (!manifests.ok()) throw CLI::ValidationError("railweave deploy render", manifests.status().message());
  perf::say("{}", manifests.value());
}

}  // namespace

void add_deploy(CLI::App& program) {
  CLI::App* const command = program.add_subcommand(
      "deploy", "Makes files for clusters.\nExit status: 0; 1 after an error; 64 for a wrong command line.");
  command->require_subcommand(1);
  CLI::App* const render = command->add_subcommand(
      "render",
      "Prints the manifests of a job for Kubernetes: what gives its pods several NICs, and the job. Nothing is sent\n"
      "to a cluster:\n"
      "  railweave deploy render --nics 2 --via multus --kind trainjob | kubectl apply -f -\n"
      "Exit status: 0; 1 after an error; 64 for a wrong command line.");
  const auto options = std::make_shared<Options>();
  add_network_options(*render, *options);
  add_job_options(*render, *options);
  render->callback([options] { print(*options); });
}

}  // namespace railweave::commands
