"""The request for a lab, the plan made from it, and the settings of hosts. Pure; runs anywhere."""
from __future__ import annotations

import json
import unittest

import support
from lab import settings
from lab.faults import Rule, filter_tcp
from lab.iproute import CommandError
from lab.plan import Plan, make_plan
from lab.shaping import burst_bytes, shapers_of, tbf_args
from lab.spec import SpecError, make_spec, parse_rate


class Rates(unittest.TestCase):
    def test_units_are_decimal(self) -> None:
        self.assertEqual(parse_rate("2gbit"), 2_000_000_000)
        self.assertEqual(parse_rate("1.5Mbit"), 1_500_000)

    def test_bad_rate_is_named(self) -> None:
        for text in ("fast", "2", "2gb", "-1gbit", "1bit", ""):
            with self.assertRaisesRegex(SpecError, f"rate '{text}'"):
                parse_rate(text)

    def test_bucket_holds_a_millisecond_and_at_least_16_kib(self) -> None:
        self.assertEqual(burst_bytes(2_000_000_000), 250_000)
        self.assertEqual(burst_bytes(100_000_000), 16_384)
        self.assertEqual(tbf_args(100_000_000, ["limit", "7"]),
                         ["tbf", "rate", "100000000bit", "burst", "16384", "limit", "7"])

    def test_rates_repeat_and_differ_per_host(self) -> None:
        self.assertEqual(make_spec(2, "2", "2gbit,1gbit").rates_bps, ((2 * 10**9, 10**9),) * 2)
        self.assertEqual(make_spec(2, "2,4", "2gbit/1gbit").rates_bps, ((2 * 10**9,) * 2, (10**9,) * 4))

    def test_impossible_requests_are_refused(self) -> None:
        for hosts, nics, rate in ((0, "1", None), (2, "2,2,2", None), (2, "x", None), (2, "1", "1gbit,1gbit"),
                                  (2, "0", None), (2, "1", "1gbit/1gbit/1gbit")):
            with self.assertRaises(SpecError):
                make_spec(hosts, nics, rate)
        for names in ("lo", "a", "eth0", "eth,ens,x"):
            with self.assertRaises(SpecError):
                make_spec(2, "2", None, names)

    def test_options_that_contradict_each_other_are_refused_by_name(self) -> None:
        for option, given in (("--buffer", {"buffer_bytes": 100_000}),
                              ("--buffer", {"buffer_bytes": 10, "shape": "both"}),
                              ("--network routed", {"network": "routed", "subnets": "shared"}),
                              ("--routes policy", {"routes": "policy"}),
                              ("--stateful", {"stateful": True}), ("--ipv6", {"ipv6": True, "dual_stack": True}),
                              ("--disable-ipv6", {"ipv6": True, "disable_ipv6": True}), ("--mtu", {"mtu_bytes": 100}),
                              ("--nowhere '2:0'", {"nowhere": ["2:0"]}), ("--nowhere 'x'", {"nowhere": ["x"]})):
            with self.assertRaisesRegex(SpecError, option):
                make_spec(2, "2", **given)
        with self.assertRaisesRegex(SpecError, "--names eth"):
            make_spec(2, "2", None, "eth", pods=True)


class Plans(unittest.TestCase):
    def test_equal_disjoint_hosts_are_wired_directly(self) -> None:
        plan = make_plan(make_spec(2, "2", None, "eth,ens"), "x")
        self.assertIsNone(plan.switch_ns)
        self.assertEqual([nic.address for nic in plan.hosts[1].nics], ["10.77.0.2", "10.77.1.2"])
        self.assertEqual((plan.hosts[0].nics[1].peer_ns, plan.hosts[0].nics[1].peer_dev), ("x-host1", "ens1"))

    def test_every_nic_of_the_richer_host_has_a_counterpart(self) -> None:
        plan = make_plan(make_spec(2, "2,4"), "x")
        self.assertEqual([nic.subnet for nic in plan.hosts[1].nics], [0, 1, 0, 1])
        self.assertEqual(plan.switch_ns, "x-switch")

    def test_what_direct_cables_cannot_do_gets_a_switch(self) -> None:
        for given in ({"shape": "both"}, {"pods": True}, {"nowhere": ["0:1"]}, {"network": "rails"}):
            self.assertEqual(make_spec(2, "2", **given).wiring, "rails", given)
        self.assertEqual(make_spec(2, "2", subnets="shared").wiring, "one-switch")

    def test_addresses_are_unique(self) -> None:
        for given in ({}, {"subnets": "shared"}, {"network": "routed"}, {"pods": True}):
            for family in ({}, {"ipv6": True}, {"dual_stack": True}):
                plan = make_plan(make_spec(5, "2,4,1,3,8", **given, **family), "x")
                addresses = [address for nic in plan.nics() for address in nic.addresses]
                self.assertEqual(len(addresses), len(set(addresses)))
                self.assertEqual(len(addresses), (1 + ("dual_stack" in family)) * 18)

    def test_one_switch_joins_disjoint_subnets(self) -> None:
        plan = make_plan(make_spec(2, "2", network="one-switch"), "x")
        self.assertEqual(plan.bridges(), ["switch0"])
        self.assertEqual([nic.address for nic in plan.hosts[1].nics], ["10.77.0.2", "10.77.1.2"])

    def test_a_nic_that_leads_nowhere_keeps_its_address(self) -> None:
        plan = make_plan(make_spec(2, "2", nowhere=["1:1"]), "x")
        self.assertEqual(plan.bridges(), ["nowhere1n1", "rail0", "rail1"])
        self.assertEqual([nic.leads_nowhere for nic in plan.hosts[1].nics], [False, True])
        self.assertEqual(plan.hosts[1].nics[1].address, "10.77.1.2")

    def test_shapers(self) -> None:
        for shape, places in (("host", ["eth0"]), ("switch", ["h0n0"]), ("both", ["eth0", "h0n0"])):
            plan = make_plan(make_spec(2, "2", shape=shape, network="rails"), "x")
            self.assertEqual([dev for _, dev, _ in shapers_of(plan, plan.hosts[0].nics[0])], places)
        plan = make_plan(make_spec(2, "2", shape="switch", buffer_bytes=100_000), "x")
        self.assertEqual(shapers_of(plan, plan.hosts[0].nics[0])[0][2], ["limit", "100000"])

    def test_routes_of_a_routed_network(self) -> None:
        def routes(choice: str) -> list[list[str]]:
            return [nic.routes
                    for nic in make_plan(make_spec(2, "2", network="routed", routes=choice), "x").hosts[1].nics]

        first, second = "default via 10.128.1.1 dev eth0", "default via 10.129.1.1 dev eth1"
        self.assertEqual(routes("metric"), [[f"{first} metric 101"], [f"{second} metric 102"]])
        self.assertEqual(routes("one"), [[f"{first} metric 101"], []])
        self.assertEqual(routes("rail"), [[f"{first} metric 101", "10.128.0.0/16 via 10.128.1.1 dev eth0"],
                                          ["10.129.0.0/16 via 10.129.1.1 dev eth1"]])
        self.assertEqual(routes("policy")[1], ["10.129.1.0/24 dev eth1 table 102", f"{second} table 102"])
        plan = make_plan(make_spec(2, "2", network="routed", routes="policy"), "x")
        self.assertEqual(plan.hosts[1].nics[1].rules, ["from 10.129.1.2 table 102"])

    def test_a_pod_has_two_default_routes_and_uplinks_in_its_node(self) -> None:
        plan = make_plan(make_spec(2, "2", pods=True), "x")
        pod = plan.hosts[1]
        self.assertEqual([nic.name for nic in pod.nics], ["net1", "net2"])
        self.assertEqual(pod.management, "10.76.0.2/16")
        self.assertEqual([nic.routes for nic in pod.nics], [["default via 10.77.0.254 dev net1 metric 101"], []])
        self.assertEqual((pod.nics[1].carrier_ns, pod.nics[1].carrier_dev), ("x-host1-node", "uplink1"))
        self.assertLessEqual({"x-host1-node", "x-management"}, {*plan.namespaces()})

    def test_a_management_interface_is_no_nic(self) -> None:
        plan = make_plan(make_spec(2, "2", management=True), "x")
        self.assertEqual((plan.hosts[1].management_nic, plan.hosts[1].management), ("mgmt0", "10.76.0.2/16"))
        self.assertEqual([nic.name for nic in plan.hosts[1].nics], ["eth0", "eth1"])
        self.assertEqual(plan.namespaces(), ["x-host0", "x-host1", "x-management"])
        self.assertEqual(make_plan(make_spec(2, "2"), "x").namespaces(), ["x-host0", "x-host1"])

    def test_json_keeps_everything(self) -> None:
        for given in ({"shape": "switch"}, {"pods": True}, {"network": "routed", "dual_stack": True}):
            plan = make_plan(make_spec(3, "2", "1gbit", **given), "x")
            self.assertEqual(Plan.from_json(json.loads(json.dumps(plan.to_json()))), plan)


class Settings(unittest.TestCase):
    def test_hosts_are_as_linux_ships_them_whatever_this_machine_is(self) -> None:
        values = settings.of_host(make_spec(2, "2"))
        for name in ("arp_ignore", "arp_announce", "rp_filter"):
            self.assertEqual({values[f"net/ipv4/conf/{which}/{name}"] for which in ("all", "default")}, {"0"}, name)
        self.assertFalse([name for name in values if "disable_ipv6" in name])

    def test_choices_reach_all_and_default(self) -> None:
        values = settings.of_host(make_spec(2, "2", arp="strict", rp_filter=2, disable_ipv6=True))
        for which in ("all", "default"):
            seen = [values[f"net/ipv4/conf/{which}/{name}"] for name in ("arp_ignore", "arp_announce", "rp_filter")]
            self.assertEqual(seen, ["1", "2", "2"])
            self.assertEqual(values[f"net/ipv6/conf/{which}/disable_ipv6"], "1")


class FirewallRules(unittest.TestCase):
    def test_what_a_rule_matches(self) -> None:
        self.assertEqual(Rule().matches(), "meta l4proto tcp")
        self.assertEqual(Rule(family="ipv4").matches(), "meta protocol ip meta l4proto tcp")
        self.assertRegex(Rule(syn_percent=12.5).matches(),
                         r"tcp flags & \(syn\|ack\) == syn numgen random mod 100000 < 12500$")

    def test_a_switch_only_drops(self) -> None:
        host = make_plan(make_spec(2, "2", network="rails"), "x").hosts[0]
        with self.assertRaisesRegex(CommandError, "only drop"):
            filter_tcp(host, host.nics[0], Rule("reset", at="port"))


if __name__ == "__main__":
    support.main(needs_root=False)
