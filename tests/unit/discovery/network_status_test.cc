// Rails in a Kubernetes pod: the annotation k8s.v1.cni.cncf.io/network-status, and the choice that follows from it.
#include "discovery/network_status.h"

#include <sys/stat.h>

#include "discovery/interface.h"
#include "discovery/selection.h"
#include "expect_rails.h"

namespace railweave::discovery {
namespace {

// As Multus writes it for a pod with two SR-IOV networks, shortened.
constexpr const char* kTwoNetworks = R"([{
    "name": "cluster-net", "interface": "eth0", "ips": ["10.244.1.4"], "mac": "96:60:01:2f:5a:11", "default": true,
    "dns": {}, "gateway": ["10.244.1.1"]
},{
    "name": "jobs/rail-0", "interface": "net1", "ips": ["192.168.10.4"], "mac": "ca:fe:c0:ff:ee:01", "mtu": 9000,
    "dns": {}, "device-info": {"type": "pci", "version": "1.1.0", "pci": {"pci-address": "0000:5e:02.1"}}
},{
    "name": "jobs/rail-1", "interface": "net2", "ips": ["192.168.11.4"], "mac": "ca:fe:c0:ff:ee:02", "dns": {}
}])";

using NetworkNames = std::vector<std::string>;

std::string error_of(std::string_view text) {
  Result<PodNetworks> networks = parse_network_status(text);
  if (networks.ok()) return "no error";
  EXPECT_EQ(networks.status().code(), Code::invalid_config);
  return networks.status().message();
}

TEST(NetworkStatus, additional_networks_are_told_from_the_default_one) {
  Result<PodNetworks> networks = parse_network_status(kTwoNetworks);
  ASSERT_TRUE(networks.ok()) << networks.status().message();
  EXPECT_EQ(networks->cluster, (NetworkNames{"eth0"}));
  EXPECT_EQ(networks->additional, (NetworkNames{"net1", "net2"}));
  EXPECT_FALSE(networks->awaited);
}

TEST(NetworkStatus, an_empty_file_is_an_annotation_that_is_awaited) {
  for (const char* text : {"", "\n", " \t\r\n"}) EXPECT_TRUE(parse_network_status(text)->awaited);
  Result<PodNetworks> none = parse_network_status("[]");
  EXPECT_TRUE(none.ok() && !none->awaited && none->cluster.empty() && none->additional.empty());
}

TEST(NetworkStatus, entries_without_an_interface_and_repeated_ones_are_left_out) {
  Result<PodNetworks> networks = parse_network_status(
      R"([{"name":"a"},{"interface":""},{"interface":"net1"},{"default":false,"interface":"net1"},{"interface":"n"}])");
  ASSERT_TRUE(networks.ok());
  EXPECT_EQ(networks->additional, (NetworkNames{"net1", "n"}));
}

TEST(NetworkStatus, errors_name_the_place) {
  EXPECT_EQ(error_of("{}"), "byte 0: found '{', expected a list");
  EXPECT_EQ(error_of(R"([{"interface":1}])"), "byte 14: found '1', expected a string");
  EXPECT_EQ(error_of(R"([{"default":"true"}])"), "byte 12: found '\"', expected true or false");
  EXPECT_EQ(error_of("[{}] x"), "byte 5: found 'x', expected the end");
  EXPECT_EQ(error_of("[{"), "byte 2: found the end, expected a string");
  for (const char* name : {R"(a\nb)", "a/b", "sixteen_letters_", "\xc3\xa9", "a b"})
    expect_contains(error_of(R"([{"interface":")" + std::string(name) + R"("}])"),
                    "found an interface that has no name");
}

class Pod : public testing::Test {
 protected:
  Pod() {
    host_.loopback();
    for (const char* name : {"eth0", "net1", "net2"}) host_.link(name, "veth");
    host_.address("eth0", "10.244.1.4/24");
    host_.address("net1", "192.168.10.4/24");
    host_.address("net2", "192.168.11.4/24");
  }
  void status(const std::string& text) { host_.put("etc/podinfo/network-status", text); }
  Nanos waited() const { return host_.now() - TimePoint{}; }
  NetworkNames warnings() {
    Result<Selection> selection = select({}, host_, survey(host_, AddressFamily::any).value());
    return selection.ok() ? selection->warnings : NetworkNames{selection.status().message()};
  }
  FakeHost host_;
};

TEST_F(Pod, without_a_file_rules_choose) {
  EXPECT_EQ("eth0 net1 net2", rails_of(host_));
  EXPECT_EQ(Nanos(0), waited());
  EXPECT_TRUE(warnings().empty());
}

TEST_F(Pod, its_additional_networks_are_the_rails) {
  status(kTwoNetworks);
  EXPECT_EQ("net1 net2", rails_of(host_));
  EXPECT_EQ("an additional network of the pod", reason(host_, "net1"));
  EXPECT_EQ("the pod's default network, and there are additional ones", reason(host_, "eth0"));
  EXPECT_EQ("loopback: only when named", reason(host_, "lo"));
  host_.link("net3", "veth");
  host_.address("net3", "192.168.12.4/24");
  EXPECT_EQ("not among the pod's additional networks", reason(host_, "net3"));
  EXPECT_TRUE(warnings().empty());
}

TEST_F(Pod, a_pod_with_its_default_network_only_is_left_to_the_rules) {
  status(R"([{"name":"cluster-net","interface":"eth0","default":true}])");
  EXPECT_EQ("eth0 net1 net2", rails_of(host_));
}

TEST_F(Pod, names_that_the_user_gave_win) {
  status("not even JSON");
  EXPECT_EQ("eth0 net2", rails_named(host_, {"eth0", "net2"}));
  EXPECT_EQ("eth0", rails_listed(host_, "eth"));
  expect_contains(rails_listed(host_, "^eth"), "/etc/podinfo/network-status: byte 0: found 'n', expected a list");
  status(kTwoNetworks);
  EXPECT_EQ("net2", rails_listed(host_, "^net1"));
}

TEST_F(Pod, a_network_that_is_down_does_not_bring_the_default_one) {
  status(kTwoNetworks);
  host_.find("net2").up = false;
  EXPECT_EQ("net1", rails_of(host_));
  host_.find("net1").up = false;
  expect_contains(rails_of(host_), "net1: an additional network of the pod, but unusable: down");
}

TEST_F(Pod, networks_without_an_interface_here_are_a_warning) {
  status(R"([{"interface":"net1"},{"interface":"vhost0"}])");
  EXPECT_EQ("net1", rails_of(host_));
  EXPECT_EQ(warnings(),
            (NetworkNames{"network status " + host_.root() +
                          "/etc/podinfo/network-status: no interface is called \"vhost0\"; there are: lo, eth0, "
                          "net1, net2"}));
  status(R"([{"interface":"vhost0"}])");
  EXPECT_EQ("eth0 net1 net2", rails_of(host_));
}

TEST_F(Pod, an_empty_file_is_waited_for) {
  status("");
  host_.on_sleep = [&] {
    if (waited() >= std::chrono::seconds(1)) status(kTwoNetworks);
  };
  EXPECT_EQ("net1 net2", rails_of(host_));
  EXPECT_LE(waited(), std::chrono::milliseconds(1020));
}

TEST_F(Pod, a_file_that_stays_empty_is_a_warning_and_rules_choose) {
  status("");
  EXPECT_EQ("eth0 net1 net2", rails_of(host_));
  EXPECT_EQ(kWaitForNetworks, waited());
  ASSERT_EQ(warnings().size(), 1u);
  expect_contains(warnings()[0], "empty, so rails are chosen by rules");
}

TEST_F(Pod, networks_that_are_known_later_bring_no_other_rail) {
  status(kTwoNetworks);
  const std::vector<Rail> known = discover_rails({}, host_)->taken;
  Result<std::vector<UsableRail>> now = usable_rails({}, host_, known);
  ASSERT_TRUE(now.ok());
  EXPECT_EQ(now->size(), 2u);
}

TEST_F(Pod, a_file_that_was_named_must_be_fit) {
  Config config;
  const auto error = [&](const std::string& file) {
    config.network_status_file = file;
    return rails_of(host_, config);
  };
  expect_contains(error(host_.root() + "/nothing"), "/nothing: open: No such file or directory");
  expect_contains(error(host_.root()), ": found no regular file, expected one");
  const std::string pipe = host_.root() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_contains(error(pipe), "/pipe: found no regular file, expected one");
  host_.put("large", "[" + std::string(kNetworkStatusBytesMax, ' ') + "]");
  expect_contains(error(host_.root() + "/large"), "found more than 65536 bytes");
  host_.put("good", kTwoNetworks);
  EXPECT_EQ("net1 net2", error(host_.root() + "/good"));
}

}  // namespace
}  // namespace railweave::discovery
