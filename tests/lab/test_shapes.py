"""The networks that the lab makes: which NICs reach each other, by which NIC packets arrive, and hosts' settings."""
from __future__ import annotations

import json
import subprocess
import time
import unittest

import support
from open_lab import OpenLab, sysctl

_BOTH = [(0, 0), (0, 1), (1, 0), (1, 1)]
_OWN = [(0, 0), (1, 1)]


class Reach(unittest.TestCase):
    def reached(self, *options: str, expected: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Returns the pairs of NICs of host 0 and host 1 that connect. An expected pair has 4 s, because an ARP request
        that is lost on a busy machine is sent again only after a second."""
        with OpenLab(*options) as lab:
            nics, peers = (range(len(host.nics)) for host in lab.plan.hosts)
            return [(nic, peer) for nic in nics for peer in peers
                    if lab.reaches(nic, peer, 4.0 if (nic, peer) in expected else 0.8) == "connected"]

    def test_direct_cables_with_default_arp_reach_across(self) -> None:
        """Any NIC answers ARP for any address of its host."""
        self.assertEqual(self.reached(expected=_BOTH), _BOTH)

    def test_direct_cables_with_strict_arp(self) -> None:
        self.assertEqual(self.reached("--arp", "strict", expected=_OWN), _OWN)

    def test_one_switch(self) -> None:
        for subnets in ("shared", "disjoint"):
            self.assertEqual(self.reached("--network", "one-switch", "--subnets", subnets, expected=_BOTH), _BOTH,
                             subnets)

    def test_routed_with_a_route_by_each_nic(self) -> None:
        for routes in ("metric", "policy"):
            self.assertEqual(self.reached("--network", "routed", "--routes", routes, expected=_BOTH), _BOTH, routes)

    def test_routed_ipv6(self) -> None:
        self.assertEqual(self.reached("--network", "routed", "--ipv6", "--routes", "policy", expected=_BOTH), _BOTH)

    def test_routed_with_one_default_route(self) -> None:
        self.assertEqual(self.reached("--network", "routed", "--routes", "one", expected=[(0, 0), (0, 1)]),
                         [(0, 0), (0, 1)])

    def test_routed_with_a_route_to_each_rail(self) -> None:
        self.assertLessEqual({*_OWN}, {*self.reached("--network", "routed", "--routes", "rail", expected=_OWN)})

    def test_pods(self) -> None:
        self.assertLessEqual({*_OWN}, {*self.reached("--pods", expected=_OWN)})
        self.assertEqual(self.reached("--pods", "--subnets", "shared", expected=_BOTH), _BOTH)

    def test_a_nic_that_leads_nowhere(self) -> None:
        self.assertEqual(self.reached("--nowhere", "1:1", "--arp", "strict", expected=[(0, 0)]), [(0, 0)])

    def test_unequal_hosts(self) -> None:
        for options in ([], ["--network", "routed"], ["--pods"], ["--network", "one-switch"], ["--subnets", "shared"]):
            for nics, pairs in (("2,1", [(0, 0)]), ("4,2", [(0, 0), (1, 1), (2, 0), (3, 1)])):
                with self.subTest(options=options, nics=nics):
                    self.assertLessEqual({*pairs}, {*self.reached("--nics", nics, *options, expected=pairs)})


class Hosts(unittest.TestCase):
    def test_hosts_are_as_linux_ships_them(self) -> None:
        with OpenLab() as lab:
            for name in ("arp_ignore", "arp_announce", "rp_filter"):
                self.assertEqual([sysctl(lab, 1, f"net/ipv4/conf/{dev}/{name}") for dev in ("all", "default", "eth1")],
                                 ["0"] * 3)
            self.assertIn("fe80:", lab.run(1, "ip", "-6", "addr", "show", "dev", "eth1"))
            self.assertEqual(sysctl(lab, 1, "net/ipv6/conf/eth1/accept_dad"), "1")

    def test_choices_reach_every_nic(self) -> None:
        with OpenLab("--arp", "strict", "--rp-filter", "2", "--disable-ipv6") as lab:
            self.assertEqual(sysctl(lab, 0, "net/ipv4/conf/eth0/rp_filter"), "2")
            self.assertEqual([sysctl(lab, 0, f"net/ipv4/conf/all/{name}") for name in ("arp_ignore", "arp_announce")],
                             ["1", "2"])
            self.assertEqual(lab.run(0, "ip", "-6", "addr", "show"), "")

    def test_dual_stack(self) -> None:
        with OpenLab("--dual-stack") as lab:
            self.assertEqual([lab.reaches(1, 1, which=which) for which in (0, 1)], ["connected"] * 2)

    def test_a_pod_has_two_default_routes_and_a_management_interface(self) -> None:
        with OpenLab("--pods") as lab:
            routes = lab.run(0, "ip", "route", "show", "default").splitlines()
            self.assertEqual([line.split()[4] for line in routes], ["eth0", "net1"])
            self.assertEqual(lab.link(0, 0)["linkinfo"]["info_kind"], "macvlan")

    def test_ranks_meet_by_the_management_interface(self) -> None:
        for option, nics in (("--pods", "net1,net2"), ("--management", "eth0,eth1")):
            script = ("echo $NCCL_SOCKET_IFNAME $MASTER_ADDR; "
                      "ip route get 10.76.0.1 | grep -qE 'local|dev eth0|dev mgmt0'")
            done = support.lab("run", option, "--", "sh", "-c", script)
            self.assertEqual(sorted(done.stdout.splitlines()), [f"[host{h}] ={nics} 10.76.0.1" for h in (0, 1)])
            self.assertEqual(done.returncode, 0, done.stderr)


class ByWhichNic(unittest.TestCase):
    def test_default_arp_may_bring_both_addresses_to_one_nic(self) -> None:
        """With strict ARP each address's packets arrive by its own NIC. By default the packets of both addresses may
        arrive by one NIC, by chance."""
        def brought(*options: str) -> list[int]:
            with OpenLab("--network", "one-switch", *options) as lab:
                before = [lab.bytes_in(1, nic) for nic in (0, 1)]
                self.assertEqual([lab.carries(nic, nic) for nic in (0, 1)], [400_000] * 2)
                return [lab.bytes_in(1, nic) - was for nic, was in zip((0, 1), before)]

        self.assertGreater(min(brought("--arp", "strict")), 400_000)
        crossed = (min(brought("--subnets", subnets)) < 200_000 for _ in range(8) for subnets in ("disjoint", "shared"))
        self.assertTrue(any(crossed), "in 16 labs each NIC got its own address's bytes: that is not default ARP")


class BothWays(unittest.TestCase):
    def test_the_rate_of_a_nic_holds_for_what_it_is_sent(self) -> None:
        """Host 0 sends at 400 Mb/s to a NIC of 40 Mb/s. 2 MB take at least 0.4 s there, however busy the machine is."""
        with OpenLab("--nics", "1", "--rate", "400mbit/40mbit", "--shape", "both") as lab:
            begun = time.monotonic()
            self.assertEqual(lab.carries(0, 0, 2_000_000, 20), 2_000_000)
            self.assertGreater(time.monotonic() - begun, 0.35)

    def test_a_small_buffer_drops(self) -> None:
        with OpenLab("--nics", "1", "--rate", "400mbit/40mbit", "--shape", "both", "--buffer", "20000") as lab:
            self.assertEqual(lab.carries(0, 0, 2_000_000, 20), 2_000_000)
            port = lab.nic(1, 0)[1]
            shown = subprocess.run(["tc", "-n", port.peer_ns, "-json", "-stats", "qdisc", "show", "dev", port.peer_dev],
                                   capture_output=True, text=True, check=True).stdout
            self.assertGreater(json.loads(shown)[0]["drops"], 0, shown)


if __name__ == "__main__":
    support.main()
