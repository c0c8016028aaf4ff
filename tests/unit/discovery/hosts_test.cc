// Discovery on hosts like those of clusters: cards, virtual functions, bonds, VLANs, bridges, containers, clouds.
#include "expect_rails.h"

namespace railweave::discovery {
namespace {

constexpr char kPort0[] = "pci0000:5d/0000:5d:00.0/0000:5e:00.0";
constexpr char kPort1[] = "pci0000:5d/0000:5d:00.0/0000:5e:00.1";

TEST(Hosts, virtio_takes_its_pci_path_and_node_from_the_parent) {
  FakeHost host;
  host.loopback();
  host.card("eth0", "pci0000:00/0000:00:03.0", "192.0.2.2/24", -1, "/virtio2", 1).mtu_bytes = 1400;
  EXPECT_EQ("eth0", rails_of(host));
  const Rail eth0 = rail(host, "eth0");
  EXPECT_EQ("/sys/devices/pci0000:00/0000:00:03.0", eth0.pci_path);
  EXPECT_EQ(eth0.pci_path, eth0.physical_function);
  EXPECT_EQ(1, eth0.numa_node);
  EXPECT_EQ(1400, eth0.mtu_bytes);
  EXPECT_EQ(2, eth0.ifindex);
  EXPECT_FALSE(eth0.speed_known);
  EXPECT_DOUBLE_EQ(10'000, eth0.speed.megabits());
  EXPECT_EQ("loopback: only when named", reason(host, "lo"));
}

TEST(Hosts, ena_cards_of_a_cloud_machine_are_all_rails_in_pci_order) {
  FakeHost host;
  host.card("ens6", "pci0000:00/0000:00:06.0", "10.0.1.5/20", 25'000);
  host.card("ens5", "pci0000:00/0000:00:05.0", "10.0.0.5/20", 25'000, "", -1);
  EXPECT_EQ("ens5 ens6", rails_of(host));
  EXPECT_TRUE(rail(host, "ens5").speed_known);
  EXPECT_EQ(-1, rail(host, "ens5").numa_node);
}

TEST(Hosts, virtual_functions_know_their_physical_function) {
  FakeHost host;  // a pod with two VFs of port 0 and one of port 1; the physical functions are not visible
  host.loopback();
  host.virtual_function("net1", "pci0000:5d/0000:5d:00.0/0000:5e:00.2", kPort0, "10.1.0.2/24", 100'000);
  host.virtual_function("net2", "pci0000:5d/0000:5d:00.0/0000:5e:00.3", kPort0, "10.1.0.3/24", 100'000);
  host.virtual_function("net3", "pci0000:5d/0000:5d:00.0/0000:5e:01.2", kPort1, "10.2.0.2/24", 100'000);
  EXPECT_EQ("net1 net2 net3", rails_of(host));
  EXPECT_EQ(std::string("/sys/devices/") + kPort0, rail(host, "net1").physical_function);
  EXPECT_EQ(std::string("/sys/devices/") + kPort0, rail(host, "net2").physical_function);
  EXPECT_EQ(std::string("/sys/devices/") + kPort1, rail(host, "net3").physical_function);
  EXPECT_EQ("/sys/devices/pci0000:5d/0000:5d:00.0/0000:5e:00.2", rail(host, "net1").pci_path);
}

TEST(Hosts, a_physical_function_is_taken_instead_of_its_virtual_ones) {
  FakeHost host;
  host.card("ens1f0", kPort0, "10.1.0.1/24", 100'000);
  host.virtual_function("ens1f0v0", "pci0000:5d/0000:5d:00.0/0000:5e:00.2", kPort0, "10.1.0.2/24", 100'000);
  EXPECT_EQ("ens1f0", rails_of(host));
  EXPECT_EQ("shares the port of ens1f0, which is taken", reason(host, "ens1f0v0"));
  EXPECT_EQ("ens1f0 ens1f0v0", rails_listed(host, "ens1f0"));  // "ens1f0" is a prefix of both names
  host.find("ens1f0").running = false;
  EXPECT_EQ("ens1f0v0", rails_of(host));
  EXPECT_EQ("no carrier", reason(host, "ens1f0"));
}

TEST(Hosts, sub_functions_share_their_card) {
  FakeHost host;
  host.card("p0", kPort0, "10.1.0.1/24", 200'000);
  host.card("p0sf7", kPort0, "10.1.0.7/24", 200'000, "/mlx5_core.sf.2");
  EXPECT_EQ("p0", rails_of(host));
  host.find("p0").up = false;
  EXPECT_EQ("p0sf7", rails_of(host));
}

TEST(Hosts, representors_are_left) {
  FakeHost host;
  host.card("enp94s0f0np0", kPort0, "10.1.0.1/24", 100'000);
  host.card("enp94s0f0npf0vf0", kPort0, "10.1.0.9/24", 100'000);
  host.put("class/net/enp94s0f0np0/phys_port_name", "p0\n");
  host.put("class/net/enp94s0f0npf0vf0/phys_port_name", "pf0vf0\n");
  EXPECT_EQ("enp94s0f0np0", rails_of(host));
  expect_contains(reason(host, "enp94s0f0npf0vf0"), "representor");
}

TEST(Hosts, ports_of_one_pci_function_are_different_ports) {
  FakeHost host;  // ConnectX-3: one function, two ports
  host.card("eth0", kPort0, "10.1.0.1/24", 40'000);
  host.card("eth1", kPort0, "10.2.0.1/24", 40'000);
  host.put("class/net/eth0/dev_port", "0\n");
  host.put("class/net/eth1/dev_port", "1\n");
  EXPECT_EQ("eth0 eth1", rails_of(host));
  EXPECT_NE(rail(host, "eth0").physical_function, rail(host, "eth1").physical_function);
}

TEST(Hosts, a_bond_is_taken_and_its_members_are_left) {
  FakeHost host;
  host.card("eth0", kPort0, "", 25'000);
  host.card("eth1", kPort1, "", 25'000);
  const int bond = host.link("bond0", "bond").ifindex;
  host.put("class/net/bond0/speed", "50000\n");
  host.address("bond0", "10.0.0.1/24");
  host.find("eth0").master = host.find("eth1").master = bond;
  EXPECT_EQ("bond0", rails_of(host));
  EXPECT_EQ("member of bond0 (bond)", reason(host, "eth1"));
  const Rail rail_bond = rail(host, "bond0");
  EXPECT_DOUBLE_EQ(50'000, rail_bond.speed.megabits());
  EXPECT_EQ(std::string("/sys/devices/") + kPort0, rail_bond.pci_path);  // both ports are on one card
  EXPECT_EQ("bond0", rail_bond.physical_function);
  EXPECT_EQ(0, rail_bond.numa_node);
}

// A bond sends all of a lane by one member, chosen by a hash of the lane's TCP ports. One lane would leave the other
// members idle.
TEST(Hosts, a_bond_wants_lanes_for_each_member) {
  FakeHost host;
  host.card("eth0", kPort0, "", 25'000);
  host.card("eth1", kPort1, "", 25'000);
  const int bond = host.link("bond0", "bond").ifindex;
  host.find("eth0").master = host.find("eth1").master = bond;
  host.link("bond0.7", "vlan").lower = bond;
  host.address("bond0.7", "10.7.0.1/24");
  const auto lanes = [&](const std::string& mode) {
    host.put("class/net/bond0/bonding/mode", mode + "\n");
    return rail(host, "bond0.7").lanes_min;
  };
  EXPECT_EQ(8, lanes("802.3ad 4"));
  EXPECT_EQ(8, lanes("balance-xor 2"));
  EXPECT_EQ(1, lanes("active-backup 1"));
  EXPECT_EQ(1, lanes("balance-rr 0"));
  host.address("bond0", "10.0.0.1/24");
  host.put("class/net/bond0/bonding/mode", "802.3ad 4\n");
  EXPECT_EQ(8, rail(host, "bond0").lanes_min);
  FakeHost plain;
  plain.card("eth0", kPort0, "10.0.0.1/24", 25'000);
  EXPECT_EQ(1, rail(plain, "eth0").lanes_min);
}

TEST(Hosts, a_vlan_shares_the_port_below_it) {
  FakeHost host;
  const int port = host.card("eth0", kPort0, "", 100'000).ifindex;
  host.link("eth0.7", "vlan").lower = port;
  host.address("eth0.7", "10.7.0.1/24");
  EXPECT_EQ("eth0.7", rails_of(host));
  EXPECT_EQ(std::string("/sys/devices/") + kPort0, rail(host, "eth0.7").physical_function);
  EXPECT_DOUBLE_EQ(100'000, rail(host, "eth0.7").speed.megabits());
  host.address("eth0", "10.0.0.1/24");
  EXPECT_EQ("eth0", rails_of(host));
  EXPECT_EQ("shares the port of eth0, which is taken", reason(host, "eth0.7"));
}

TEST(Hosts, what_stands_on_a_veth_knows_its_speed_no_better) {
  FakeHost host;
  const int veth = host.link("eth0", "veth").ifindex;
  host.link("mv0", "macvlan").lower = veth;
  host.put("class/net/mv0/speed", "10000\n");
  host.address("mv0", "10.0.0.1/24");
  EXPECT_FALSE(rail(host, "mv0").speed_known);
  EXPECT_EQ("eth0", rail(host, "mv0").physical_function);
}

TEST(Hosts, a_bridge_over_a_card_is_taken_and_container_bridges_are_left) {
  FakeHost host;
  host.loopback();
  host.card("eth0", kPort0, "", 10'000);
  host.find("eth0").master = host.link("br0", "bridge").ifindex;
  host.address("br0", "10.0.0.1/24");
  host.link("docker0", "bridge");
  host.address("docker0", "172.17.0.1/16");
  host.link("br-0123456789ab", "bridge");
  host.address("br-0123456789ab", "172.18.0.1/16");
  host.link("virbr0", "bridge");
  host.address("virbr0", "192.168.122.1/24");
  host.link("vethe1", "veth").master = host.find("docker0").ifindex;
  host.address("vethe1", "fe80::1/64");
  EXPECT_EQ("br0", rails_of(host));
  EXPECT_EQ("member of br0 (bridge)", reason(host, "eth0"));
  EXPECT_EQ("member of docker0 (bridge)", reason(host, "vethe1"));
  for (const char* name : {"docker0", "br-0123456789ab", "virbr0"}) {
    expect_contains(reason(host, name), "bridge without a port to the outside");
  }
}

TEST(Hosts, container_bridges_without_a_kind_are_known_by_name) {
  FakeHost host;
  for (const char* name : {"docker0", "virbr0", "br-0123456789ab"}) {
    host.link(name);
    host.address(name, "172.17.0.1/16");
  }
  host.link("eth0");
  host.address("eth0", "10.0.0.1/24");
  EXPECT_EQ("eth0", rails_of(host));
  EXPECT_EQ("docker*: container or machine bridge", reason(host, "docker0"));
}

TEST(Hosts, in_a_container_veths_are_rails) {
  FakeHost host;
  host.loopback();
  host.link("eth0", "veth");
  host.address("eth0", "10.244.1.7/32");
  host.link("eth10", "veth");
  host.address("eth10", "10.2.0.7/24");
  host.link("eth2", "veth");
  host.address("eth2", "10.1.0.7/24");
  host.put("class/net/eth2/speed", "10000\n");
  EXPECT_EQ("eth0 eth2 eth10", rails_of(host));
  EXPECT_FALSE(rail(host, "eth2").speed_known);  // the speed of a veth is made up
  EXPECT_EQ("eth2", rail(host, "eth2").physical_function);
  EXPECT_EQ("", rail(host, "eth2").pci_path);
}

TEST(Hosts, a_pods_overlay_is_left_beside_a_virtual_function) {
  FakeHost host;
  host.link("eth0", "veth");
  host.address("eth0", "10.244.1.7/32");
  host.virtual_function("net1", "pci0000:5d/0000:5d:00.0/0000:5e:00.2", kPort0, "10.1.0.2/24", 100'000);
  EXPECT_EQ("net1", rails_of(host));
  EXPECT_EQ("virtual interface, and there is better: net1", reason(host, "eth0"));
}

TEST(Hosts, tunnels_dummies_and_usb_are_left_beside_a_card) {
  FakeHost host;
  host.card("eth0", kPort0, "10.0.0.1/24", 25'000);
  host.card("usb0", "pci0000:00/0000:00:14.0", "169.254.3.1/24", 100, "/usb1/1-2/1-2:1.0");
  host.link("wg0", "wireguard");
  host.address("wg0", "10.9.0.1/24");
  host.link("tailscale0", "tun");
  host.address("tailscale0", "100.64.0.1/32");
  host.link("dummy0", "dummy");
  host.address("dummy0", "10.10.0.1/32");
  EXPECT_EQ("eth0", rails_of(host));
  expect_contains(reason(host, "wg0"), "there is better: eth0");
  expect_contains(reason(host, "dummy0"), "dummy interface with a routable address: only when named");
  host.find("eth0").up = false;
  EXPECT_EQ("tailscale0 wg0", rails_of(host));
}

TEST(Hosts, a_management_port_is_left_beside_fast_ones) {
  FakeHost host;
  host.card("eno1", "pci0000:00/0000:00:1f.6", "10.255.0.1/24", 1'000);
  host.card("eth0", kPort0, "10.0.0.1/24", 100'000);
  host.card("eth1", kPort1, "10.1.0.1/24", 10'000);
  EXPECT_EQ("eth0 eth1", rails_of(host));
  EXPECT_EQ("1 Gb/s, under a tenth of eth0 (100 Gb/s): only when named", reason(host, "eno1"));
  EXPECT_EQ("eno1 eth0", rails_named(host, {"eno1", "eth0"}));
}

TEST(Hosts, an_accelerated_azure_interface_hides_its_virtual_function) {
  FakeHost host;
  host.card("eth0", "LNXSYSTM:00/VMBUS:00/f8b3781b", "10.0.0.4/24", 50'000);
  host.card("enP1s1", "LNXSYSTM:00/VMBUS:00/uuid/pci0001:00/0001:00:02.0", "", 50'000, "", 1).master =
      host.find("eth0").ifindex;
  EXPECT_EQ("eth0", rails_of(host));
  EXPECT_EQ("member of eth0 (its upper device)", reason(host, "enP1s1"));
  expect_contains(rail(host, "eth0").pci_path, "/0001:00:02.0");
  EXPECT_EQ(1, rail(host, "eth0").numa_node);
}

TEST(Hosts, a_member_of_a_vrf_keeps_its_addresses) {
  FakeHost host;
  host.card("eth0", kPort0, "10.0.0.1/24", 25'000).master = 2;
  host.link("vrf-blue", "vrf");
  EXPECT_EQ("eth0", rails_of(host));
  EXPECT_EQ("vrf-blue", rail(host, "eth0").vrf);
  EXPECT_EQ(host.find("vrf-blue").ifindex, rail(host, "eth0").vrf_ifindex);
}

TEST(Hosts, sysfs_of_another_namespace_is_not_believed) {
  FakeHost host;
  host.card("eth0", kPort0, "10.0.0.1/24", 25'000);
  host.put("class/net/eth0/ifindex", "77\n");
  const Rail eth0 = rail(host, "eth0");
  EXPECT_EQ("", eth0.pci_path);
  EXPECT_FALSE(eth0.speed_known);
}

TEST(Hosts, more_rails_than_the_bound_are_left) {
  FakeHost host;
  for (int i = 0; i < 20; ++i) {
    host.link("eth" + std::to_string(i), "veth");
    host.address("eth" + std::to_string(i), "10.0." + std::to_string(i) + ".1/24");
  }
  EXPECT_EQ("more than 16 rails", reason(host, "eth16"));
  EXPECT_EQ("virtual interface; no hardware is usable here", reason(host, "eth15"));
}

}  // namespace
}  // namespace railweave::discovery
