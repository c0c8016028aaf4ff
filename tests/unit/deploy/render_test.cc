#include "deploy/render.h"

#include <gtest/gtest.h>

#include <functional>

namespace railweave::deploy {
namespace {

std::string text_of(const Request& request) {
  const Result<std::string> text = render(request);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? text.value() : "";
}

std::string error_of(const std::function<void(Request&)>& change, Via via = Via::multus) {
  Request request;
  request.via = via;
  change(request);
  const Result<std::string> text = render(request);
  if (text.ok()) return "no error";
  EXPECT_EQ(text.status().code(), Code::invalid_argument);
  return text.status().message();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), text.npos) << "\"" << part << "\" is not in\n" << text;
}

TEST(Render, a_claim_has_as_many_nics_as_asked) {
  Request request;
  request.nics = 4;
  const std::string text = text_of(request);
  expect_parts(text, {"kind: DeviceClass", "apiVersion: resource.k8s.io/v1\n", "kind: ResourceClaimTemplate",
                      "            count: 4\n", "  resourceClaims:\n    - name: rails\n",
                      "        claims:\n          - name: rails\n"});
  EXPECT_EQ(text.find("podinfo"), text.npos) << "DRANET writes no network-status";
}

TEST(Render, kubernetes_1_33_has_another_version_of_claims) {
  Request request;
  request.kubernetes = 33;
  const std::string text = text_of(request);
  EXPECT_EQ(count(text, "apiVersion: resource.k8s.io/v1beta2\n"), 2u);
  EXPECT_EQ(count(text, "apiVersion: resource.k8s.io/v1\n"), 0u);
}

TEST(Render, multus_names_each_nic_and_shows_the_pod_its_networks) {
  Request request;
  request.via = Via::multus;
  request.interfaces = {"ens1f0", "ens2f0"};
  request.subnets = {"10.1.0.0/16", "fd00:10::/64"};
  const std::string text = text_of(request);
  expect_parts(text, {"\"master\": \"ens1f0\"", "\"master\": \"ens2f0\"", "\"range\": \"10.1.0.0/16\"",
                      "\"range\": \"fd00:10::/64\"", "k8s.v1.cni.cncf.io/networks: \"railweave-rail0,railweave-rail1\"",
                      "mountPath: /etc/podinfo\n", "path: network-status\n",
                      "fieldPath: \"metadata.annotations['k8s.v1.cni.cncf.io/network-status']\""});
}

TEST(Render, sriov_asks_for_one_function_per_rail) {
  Request request;
  request.via = Via::sriov;
  request.nics = 3;
  request.resources = {"a.io/x", "a.io/y", "a.io/x"};
  const std::string text = text_of(request);
  expect_parts(text, {"a.io/x: \"2\"\n", "a.io/y: \"1\"\n", "k8s.v1.cni.cncf.io/resourceName: a.io/y\n"});
  EXPECT_EQ(count(text, "\"type\": \"sriov\""), 3u);
}

TEST(Render, every_pod_of_a_kind_has_its_rails) {
  for (const Via via : {Via::dra, Via::multus, Via::sriov}) {
    const std::string rails = via == Via::dra ? "resourceClaimTemplateName: railweave-nics" : "cncf.io/networks:";
    for (const auto& [kind, pods] : {std::pair{Kind::pod, 3u},
                                     {Kind::trainjob, 1u},
                                     {Kind::pytorchjob, 2u},
                                     {Kind::mpijob, 1u}}) {  // a template counts once
      Request request;
      request.via = via;
      request.kind = kind;
      request.nodes = 3;
      EXPECT_EQ(count(text_of(request), rails), pods) << int(kind);
    }
  }
}

TEST(Render, a_train_job_never_replaces_the_resources_of_its_runtime) {
  Request request;
  request.kind = Kind::trainjob;
  request.gpus = 8;
  const std::string text = text_of(request);
  EXPECT_EQ(count(text, "resourcesPerNode:"), 0u);
  expect_parts(text, {"nvidia.com/gpu: \"8\"\n", "kind: ClusterTrainingRuntime\n", "    name: railweave\n"});
}

TEST(Render, the_launcher_of_mpi_passes_variables_and_has_no_devices) {
  Request request;
  request.kind = Kind::mpijob;
  request.via = Via::sriov;
  request.gpus = 2;
  request.key_secret = "railweave-key";
  const std::string text = text_of(request);
  EXPECT_EQ(count(text, "nvidia.com/gpu"), 1u);
  expect_parts(text, {"- \"-x\"\n                - RAILWEAVE_KEY_FILE\n", "- \"-x\"\n                - NCCL_NET\n",
                      "- \"-x\"\n                - PATH\n", "- \"-x\"\n                - LD_LIBRARY_PATH\n"});
}

TEST(Render, a_key_is_readable_for_a_pod_that_is_not_root) {
  Request request;
  request.key_secret = "railweave-key";
  expect_parts(text_of(request), {"runAsNonRoot: true\n", "fsGroup: 1000\n", "secretName: railweave-key\n",
                                  "defaultMode: 256\n", "name: RAILWEAVE_KEY_FILE\n", "value: /etc/railweave/key\n"});
}

TEST(Render, one_node_has_no_worker) {
  Request request;
  request.kind = Kind::pytorchjob;
  request.nodes = 1;
  EXPECT_EQ(text_of(request).find("Worker:"), std::string::npos);
}

TEST(Render, a_pod_has_a_rank_for_each_gpu_unless_the_user_says_more) {
  Request request;
  expect_parts(text_of(request), {"--nproc-per-node=1\"\n"});
  request.gpus = 8;
  expect_parts(text_of(request), {"--nproc-per-node=8\"\n"});
  request.processes = 2;
  expect_parts(text_of(request), {"--nproc-per-node=2\"\n"});
}

TEST(Render, torchrun_gets_a_script_and_mpirun_a_command) {
  Request request;
  request.command = {"python3", "train.py"};
  const std::string problem =
      "COMMAND: found python in front, expected a script and its arguments: torchrun starts Python";
  EXPECT_EQ(error_of([&](Request& r) { r.command = request.command; }), problem);
  request.kind = Kind::mpijob;
  expect_parts(text_of(request), {"- python3\n"});
}

TEST(Render, words_of_the_user_stay_texts) {
  Request request;
  request.command = {"on", "a: b", "--lr=1e-3 # x", "1"};
  expect_parts(text_of(request), {"- \"on\"\n", "- \"a: b\"\n", "- \"--lr=1e-3 # x\"\n", "- \"1\"\n"});
}

TEST(Render, the_first_line_says_how_the_file_was_made) {
  Request request;
  request.via = Via::sriov;
  request.kubernetes = 37;
  request.name = "train";
  request.command = {"x"};
  EXPECT_EQ(
      text_of(request).rfind("# Made by: railweave deploy render --nics 2 --via sriov --kind pod --kubernetes 1.37 "
                             "--name train -- ...\n",
                             0),
      0u);
}

TEST(Render, errors_name_the_option) {
  EXPECT_EQ(error_of([](Request& r) { r.nics = 17; }), "--nics: found 17, expected 1 to 16");
  EXPECT_EQ(error_of([](Request& r) { r.nodes = 0; }), "--nodes: found 0, expected 1 to 1000");
  EXPECT_EQ(error_of([](Request& r) { r.gpus = -1; }), "--gpus: found -1, expected 0 to 64");
  EXPECT_EQ(error_of([](Request& r) { r.processes = 65; }), "--processes: found 65, expected 0 to 64");
  EXPECT_EQ(error_of([](Request& r) { r.kubernetes = 32; }), "--kubernetes: found 1.32, expected 1.33 to 1.37");
  EXPECT_EQ(error_of([](Request& r) { r.subnets = {"10.0.0.0/24"}; }),
            "--subnets: found 1 elements, expected 2, as --nics says");
  EXPECT_EQ(error_of([](Request& r) {
              r.subnets = {"10.0.0.0/24", "10.0.0.0/24"};
            }),
            "--subnets: found 10.0.0.0/24 twice, expected a different one for each rail");
  EXPECT_EQ(error_of([](Request& r) {
              r.subnets = {"10.0.3.0/24", "10.0.0.0/22"};
            }),
            "--subnets: found 10.0.3.0/24 and 10.0.0.0/22, which overlap, expected a subnet for each rail alone");
  EXPECT_EQ(error_of([](Request& r) {
              r.resources = {"a.io/x", "a.io/y"};
            }),
            "--resources: has no meaning for this --via");
  EXPECT_EQ(error_of(
                [](Request& r) {
                  r.subnets = {"10.0.0.0/24", "10.1.0.0/24"};
                },
                Via::dra),
            "--subnets: has no meaning for this --via");
}

TEST(Render, names_that_do_not_fit_are_errors) {
  for (const auto& [option, change] : std::vector<std::pair<std::string, std::function<void(Request&)>>>{
           {"--name", [](Request& r) { r.name = "a\nb"; }},
           {"--name", [](Request& r) { r.name = std::string(41, 'a'); }},
           {"--name", [](Request& r) { r.name = "1a"; }},
           {"--namespace", [](Request& r) { r.name_space = "A"; }},
           {"--image", [](Request& r) { r.image = "a b"; }},
           {"--key-secret", [](Request& r) { r.key_secret = "a_b"; }},
           {"--interfaces", [](Request& r) { r.interfaces = {"eth0", "a b"}; }},
           {"--subnets", [](Request& r) { r.subnets = {"10.0.0.0/24", "10.0.0.1/24"}; }},
           {"COMMAND", [](Request& r) { r.command = {"a\nb"}; }}}) {
    EXPECT_EQ(error_of(change).rfind(option + ": found ", 0), 0u) << option << ": " << error_of(change);
  }
}

}  // namespace
}  // namespace railweave::deploy
