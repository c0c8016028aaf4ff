"""Each fault of a lab has its effect on real packets, and restore() undoes the fault."""
from __future__ import annotations

import argparse
import contextlib
import json
import re
import select
import unittest
from unittest import mock

import support
from lab import faults, set_options, shaping
from lab.faults import Rule
from lab.iproute import CommandError, ip
from lab.plan import Plan
from open_lab import OpenLab, pump
from support import eventually

_STRICT = ["--network", "rails", "--arp", "strict"]  # NIC 1 reaches NIC 1, and nothing else


class Fault(unittest.TestCase):
    def undone(self, lab: OpenLab, host: int = 1) -> None:
        faults.restore(lab.plan, *lab.nic(host, 1))
        self.assertTrue(eventually(lambda: lab.reaches(1, 1) == "connected"), "not as before")
        self.assertEqual(lab.carries(1, 1), 400_000)


class Links(Fault):
    def test_a_port_that_is_down_takes_the_carrier(self) -> None:
        for options in (_STRICT, ["--pods"], ["--network", "routed", "--routes", "policy"]):
            with self.subTest(options=options), OpenLab(*options) as lab:
                faults.take_port_down(lab.plan, lab.nic(1, 1)[1])
                self.assertTrue(eventually(lambda: "LOWER_UP" not in lab.link(1, 1)["flags"]), lab.link(1, 1))
                self.assertIn("UP", lab.link(1, 1)["flags"])
                self.assertNotEqual(lab.reaches(1, 1, 0.5), "connected")
                self.undone(lab)

    def test_a_switch_that_is_down_takes_no_carrier(self) -> None:
        with OpenLab(*_STRICT) as lab:
            faults.take_switch_down(lab.plan, lab.nic(1, 1)[1])
            self.assertEqual((lab.reaches(1, 1, 0.5), lab.reaches(0, 0)), ("silent", "connected"))
            self.assertIn("LOWER_UP", lab.link(1, 1)["flags"])
            self.undone(lab)

    def test_routes_and_ipv6_addresses_come_back_with_their_link(self) -> None:
        for family in ([], ["--ipv6"]):
            with self.subTest(family=family), OpenLab("--network", "routed", "--routes", "policy", *family) as lab:
                faults.take_down(*lab.nic(1, 1))
                self.assertNotEqual(lab.reaches(1, 1, 0.5), "connected")
                self.undone(lab)

    def test_cut(self) -> None:
        for options in (_STRICT, ["--arp", "strict"], ["--pods", "--arp", "strict"]):
            with self.subTest(options=options), OpenLab(*options) as lab:
                faults.cut(lab.nic(1, 1)[1])
                self.assertEqual((lab.reaches(1, 1, 0.5), lab.reaches(0, 0)), ("silent", "connected"))
                self.undone(lab)

    def test_cut_one_way(self) -> None:
        """The host's packets are lost: a SYN reaches the host, and its answer does not arrive."""
        with OpenLab(*_STRICT) as lab:
            self.assertEqual(lab.reaches(1, 1), "connected")  # from now on each host has the other's MAC
            for cut, heard in ((faults.cut_out, True), (faults.cut, False)):
                cut(lab.nic(1, 1)[1])
                before = lab.bytes_in(1, 1)
                self.assertEqual((lab.reaches(1, 1, 0.5), lab.reaches(0, 0)), ("silent", "connected"))
                self.assertEqual(lab.bytes_in(1, 1) > before, heard, cut)
            self.undone(lab)


class Packets(Fault):
    def test_a_port_of_small_mtu_passes_small_packets_only(self) -> None:
        for options in (_STRICT, ["--pods", "--arp", "strict"]):
            with self.subTest(options=options), OpenLab(*options, "--mtu", "9000") as lab:
                faults.shrink_port_mtu(lab.plan, lab.nic(1, 1)[1], 1500)
                self.assertEqual(lab.carries(1, 1, 1000), 1000)
                self.assertLess(lab.carries(1, 1, within_s=1), 100_000)
                self.assertEqual(lab.carries(0, 0), 400_000)
                self.undone(lab)
                self.assertEqual(lab.link(0, 0)["gso_max_segs"], 65535)

    def test_a_connection_made_meanwhile_is_offloaded_afterwards(self) -> None:
        with OpenLab(*_STRICT, "--mtu", "9000") as lab, lab.listen(1, 1) as listener:
            faults.shrink_port_mtu(lab.plan, lab.nic(1, 1)[1], 1500)
            _, end = lab.dial(1, listener)
            other = listener.accept()[0]
            with end, other:
                self.assertEqual(pump(end, other, 1000, 3), 1000)
                faults.restore(lab.plan, *lab.nic(1, 1))
                before = lab.link(0, 1)["stats64"]["tx"]
                self.assertEqual(pump(end, other, 4_000_000, 3), 4_000_000)
                after = lab.link(0, 1)["stats64"]["tx"]
            self.assertGreater((after["bytes"] - before["bytes"]) / (after["packets"] - before["packets"]), 2 * 9000,
                               "bytes a packet")

    def test_offload_stays_off_while_another_port_needs_it_off(self) -> None:
        with OpenLab(*_STRICT, "--mtu", "9000") as lab:
            for nic in (0, 1):
                faults.shrink_port_mtu(lab.plan, lab.nic(1, nic)[1], 1500)
            faults.restore(lab.plan, *lab.nic(1, 0))
            self.assertEqual((lab.link(0, 1)["gso_max_segs"], lab.carries(0, 0)), (1, 400_000))
            self.undone(lab)
            self.assertEqual(lab.link(0, 1)["gso_max_segs"], 65535)

    def test_a_firewall_in_the_host(self) -> None:
        with OpenLab(*_STRICT) as lab:
            for rule, seen in ((Rule(), "silent"), (Rule("reject"), "refused"), (Rule("reset"), "refused"),
                               (Rule(direction="in"), "silent"), (Rule(direction="out"), "silent"),
                               (Rule(family="ipv6"), "connected")):
                with self.subTest(rule=rule):
                    faults.filter_tcp(*lab.nic(1, 1), rule)
                    self.assertEqual((lab.reaches(1, 1, 0.5), lab.reaches(0, 0)), (seen, "connected"))
            self.undone(lab)

    def test_a_reset_ends_a_connection_that_stands(self) -> None:
        with OpenLab(*_STRICT) as lab, lab.listen(1, 1) as listener:
            said, end = lab.dial(1, listener)
            faults.filter_tcp(*lab.nic(1, 1), Rule("reset", "in"))
            with end, self.assertRaises(ConnectionResetError):
                pump(end, listener.accept()[0], 400_000, 3)

    def test_a_firewall_in_the_switch(self) -> None:
        for options in (_STRICT, ["--arp", "strict"], ["--pods", "--arp", "strict"]):
            with self.subTest(options=options), OpenLab(*options) as lab:
                for direction in ("in", "out", "both"):
                    faults.filter_tcp(*lab.nic(1, 1), Rule(direction=direction, at="port"))
                    self.assertEqual((lab.reaches(1, 1, 0.5), lab.reaches(0, 0)), ("silent", "connected"))
                self.undone(lab)

    def test_a_rejected_connection_goes_on_where_a_reset_one_ends(self) -> None:
        with OpenLab(*_STRICT) as lab, lab.listen(1, 1) as listener:
            said, end = lab.dial(1, listener)
            with end, listener.accept()[0] as other:
                faults.filter_tcp(*lab.nic(1, 1), Rule("reject", "in"))
                self.assertEqual((said, pump(end, other, 1000, 0.3)), ("connected", 0))
                self.undone(lab)
                self.assertTrue(eventually(lambda: select.select([other], [], [], 0)[0]),
                                "what was sent before does not arrive")

    def test_ipv4_alone_may_be_broken(self) -> None:
        with OpenLab(*_STRICT, "--dual-stack") as lab:
            faults.filter_tcp(*lab.nic(1, 1), Rule(at="port", family="ipv4"))
            self.assertEqual((lab.reaches(1, 1, 0.5, 0), lab.reaches(1, 1, 4.0, 1)), ("silent", "connected"))
            self.undone(lab)

    def test_syns_alone_are_lost(self) -> None:
        with OpenLab(*_STRICT) as lab, lab.listen(1, 1) as listener:
            said, end = lab.dial(1, listener)
            faults.filter_tcp(*lab.nic(1, 1), Rule(at="port", syn_percent=100))
            with end, listener.accept()[0] as other:
                self.assertEqual((said, pump(end, other, 400_000, 5)), ("connected", 400_000))
            self.assertEqual(lab.reaches(1, 1, 0.5), "silent")
            faults.filter_tcp(*lab.nic(1, 1), Rule(at="port", syn_percent=50))
            answers = {lab.reaches(1, 1, 0.2) for _ in range(60)}
            self.assertEqual(answers, {"silent", "connected"})
            self.undone(lab)

    def test_loss(self) -> None:
        """A connection goes on in spite of the loss, and packets are lost one by one."""
        for options in (_STRICT, ["--arp", "strict"]):
            with self.subTest(options=options), OpenLab(*options) as lab:
                faults.lose_packets(lab.plan, lab.nic(1, 1)[1], 10)
                # About 140 packets. A SYN may be lost several times.
                self.assertGreater(lab.carries(1, 1, 200_000, 30), 0)
                sent = lab.run(0, "cat", "/proc/net/snmp").splitlines()
                names, values = (line.split() for line in sent if line.startswith("Tcp:"))
                self.assertGreater(int(values[names.index("RetransSegs")]), 0)
                self.assertEqual(lab.link(0, 1)["gso_max_segs"], 1)
                faults.lose_packets(lab.plan, lab.nic(1, 1)[1], 100, "out")
                self.assertEqual((lab.reaches(1, 1, 0.5), lab.reaches(0, 0)), ("silent", "connected"))
                self.undone(lab)


class Addresses(Fault):
    def test_other_addresses(self) -> None:
        with OpenLab(*_STRICT) as lab:
            faults.replace_addresses(*lab.nic(1, 1), ["10.79.1.9/24"])
            self.assertEqual((lab.reaches(0, 0), "10.79.1.9/24" in lab.run(1, "ip", "addr", "show", "dev", "eth1")),
                             ("connected", True))
            self.assertNotIn("10.77.1.2", lab.run(1, "ip", "addr"))
            self.undone(lab)

    def test_routes_are_lost_and_the_link_stays(self) -> None:
        for options in (_STRICT, ["--network", "routed"], ["--network", "routed", "--routes", "policy"],
                        ["--network", "routed", "--ipv6", "--routes", "policy"]):
            with self.subTest(options=options), OpenLab(*options) as lab:
                faults.lose_routes(*lab.nic(0, 1))
                self.assertNotIn("eth1", lab.run(0, "ip", "route", "show"))
                if "--ipv6" not in options:
                    self.assertIn("10.", lab.run(0, "ip", "-4", "addr", "show", "dev", "eth1"))
                self.assertIn("LOWER_UP", lab.link(0, 1)["flags"])
                self.assertNotEqual(lab.reaches(1, 1, 0.5), "connected") if options != _STRICT else None
                self.undone(lab, 0)

    def test_routes_to_one_subnet_by_two_nics_come_back_side_by_side(self) -> None:
        with OpenLab("--network", "one-switch", "--subnets", "shared") as lab:
            host = lab.plan.hosts[1]
            for nic in (0, 1):
                for lose in (faults.take_down, faults.lose_routes):
                    lose(*lab.nic(1, nic))
                    faults.restore(lab.plan, *lab.nic(1, nic))
                    found = json.loads(ip("-json", "-4", "route", "show", ns=host.ns))
                    self.assertEqual(sorted((route["dst"], route["dev"]) for route in found),
                                     [("10.77.0.0/16", "eth0"), ("10.77.0.0/16", "eth1")])

    def test_arp_flips_in_mid_transfer(self) -> None:
        with OpenLab("--network", "one-switch", "--arp", "strict") as lab, lab.listen(1, 1) as listener:
            _, end = lab.dial(1, listener)
            with end, listener.accept()[0] as other:
                self.assertEqual(pump(end, other, 400_000, 5), 400_000)
                for target in (0, 1):
                    faults.flip_arp(*lab.nic(1, 1), lab.nic(1, target)[1])
                    mac = lab.link(1, target)["address"]
                    neighbour = ["ip", "neigh", "show", "10.77.1.2", "dev", "eth1"]
                    self.assertTrue(eventually(lambda: mac in lab.run(0, *neighbour)))
                    before = lab.bytes_in(1, target)
                    self.assertEqual(pump(end, other, 400_000, 5), 400_000)
                    self.assertGreater(lab.bytes_in(1, target) - before, 400_000)

    def test_a_new_mac_is_unknown_to_its_peers_until_they_hear_of_it(self) -> None:
        with OpenLab("--network", "one-switch", "--arp", "strict") as lab, lab.listen(1, 1) as listener:
            _, end = lab.dial(1, listener)
            with end, listener.accept()[0] as other:
                self.assertEqual(pump(end, other, 400_000, 5), 400_000)
                before = lab.link(1, 1)["address"]
                faults.change_mac(*lab.nic(1, 1))
                self.assertNotEqual(lab.link(1, 1)["address"], before)
                self.assertLess(pump(end, other, 400_000, 0.5), 400_000)
                faults.flip_arp(*lab.nic(1, 1), lab.nic(1, 1)[1])
                self.assertGreaterEqual(pump(end, other, 400_000, 10), 400_000)  # more: what was under way

    def test_reset_ends_connections_of_link_local_addresses_too(self) -> None:
        with OpenLab("--dual-stack") as lab:
            for which in (0, 1):
                with lab.listen(1, 1, which) as listener:
                    said, end = lab.dial(1, listener, which=which)
                    with end, listener.accept()[0] as other:
                        faults.reset(*lab.nic(1, 1))
                        with self.assertRaises(ConnectionError):
                            pump(end, other, 400_000, 3)


class Router(Fault):
    def test_a_firewall_that_forgets_drops_old_connections_only(self) -> None:
        with OpenLab("--network", "routed", "--routes", "policy", "--stateful") as lab, lab.listen(1, 1) as listener:
            _, end = lab.dial(1, listener)
            with end, listener.accept()[0] as other:
                self.assertEqual(pump(end, other, 400_000, 5), 400_000)
                faults.forget_connections(lab.plan)
                self.assertEqual(pump(end, other, 1000, 1), 0)
            self.assertEqual(lab.carries(1, 1), 400_000)

    def test_without_a_firewall_there_is_nothing_to_forget(self) -> None:
        with OpenLab("--network", "routed") as lab, self.assertRaisesRegex(CommandError, "--stateful"):
            faults.forget_connections(lab.plan)


class Paths(Fault):
    def test_some_connections_are_lost_and_the_others_are_whole(self) -> None:
        for direction in ("in", "out", "both"):
            with self.subTest(direction=direction), OpenLab("--network", "routed", "--routes", "policy") as lab, \
                    lab.listen(1, 1) as listener:
                faults.lose_flows(lab.nic(1, 1)[1], 50, direction)
                said = []
                for _ in range(24):
                    answer, end = lab.dial(1, listener, 0.3)
                    end.close()
                    said.append(answer)
                self.assertTrue(4 <= said.count("connected") <= 20, said)
                self.undone(lab, 1)


class CommandLine(unittest.TestCase):
    """The options of `tools/lab set`. The tests above cover the effect of faults on packets, test_traffic.py covers
    rates."""

    kFaults = {  # option: the function that it calls, and the arguments beside plan, host and NIC
        "--rate 20mbit": ("set_rate", 20_000_000), "--down": ("take_down",), "--port-down": ("take_port_down",),
        "--cut": ("cut",), "--cut-out": ("cut_out",), "--switch-down": ("take_switch_down",), "--reset": ("reset",),
        "--port-mtu 1000": ("shrink_port_mtu", 1000),
        "--firewall reset --direction in": ("filter_tcp", Rule("reset", "in")),
        "--firewall reject": ("filter_tcp", Rule("reject")),
        "--firewall drop --at port --family ipv4": ("filter_tcp", Rule("drop", at="port", family="ipv4")),
        "--lose 5 --direction out": ("lose_packets", 5, "out"),
        "--lose-flows 50 --direction in": ("lose_flows", 50, "in"),
        "--lose-syn 50 --direction in": ("filter_tcp", Rule("drop", "in", "port", syn_percent=50)),
        "--address 10.79.0.1/24,fd00::1/64": ("replace_addresses", ["10.79.0.1/24", "fd00::1/64"]),
        "--lose-routes": ("lose_routes",), "--forget-connections": ("forget_connections",),
        "--arp-flip 0": ("flip_arp",), "--new-mac": ("change_mac",), "--up": ("restore",)}

    def called(self, options: str, plan: Plan) -> list[tuple]:
        """Returns the functions that `tools/lab set` calls for NIC 1 of host 1, with the arguments beside plan, host
        and NIC."""
        parser = argparse.ArgumentParser()
        set_options.add(parser.add_subparsers())
        calls: list[tuple] = []
        with contextlib.ExitStack() as stack:
            for module, name in (*((faults, name) for name in faults.__all__ if name != "Rule"), (shaping, "set_rate")):
                stack.enter_context(mock.patch.object(module, name,
                                                      lambda *given, name=name: calls.append((name, *given))))
            set_options.apply(plan, parser.parse_args(["set", "--host", "1", "--nic", "1", *options.split()]))
        nic, other = plan.hosts[1].nics[1], plan.hosts[1].nics[0]
        self.assertTrue(all(nic in call or plan in call for call in calls), options)
        return [tuple(one for one in call if one not in (plan, plan.hosts[1], nic, other)) for call in calls]

    def test_every_option_makes_its_fault(self) -> None:
        with OpenLab(*_STRICT) as lab:
            for options, fault in self.kFaults.items():
                self.assertEqual([fault], self.called(options, lab.plan), options)
        usage = support.lab("set", "--help").stdout.partition("(")[2].partition(")")[0]
        self.assertEqual(set(re.findall(r"--[a-z-]+", usage)), {options.split()[0] for options in self.kFaults},
                         "a fault without a test")

    def test_every_fault_can_be_had_of_a_lab_that_runs(self) -> None:
        with OpenLab(*_STRICT) as lab:
            no_firewall = (1, "tools/lab: this lab's router has no firewall (--stateful makes one)\n")
            for options in self.kFaults:
                done = support.lab("set", "--lab", lab.plan.name, "--host", "1", "--nic", "1", *options.split())
                seen = (0, "") if options != "--forget-connections" else no_firewall
                self.assertEqual((done.returncode, done.stderr), seen, options)
            self.assertTrue(eventually(lambda: lab.reaches(1, 1) == "connected"))  # --up came last
            self.assertEqual(lab.run(1, "nft", "list", "ruleset"), "")

    def test_what_cannot_be_is_refused_by_name(self) -> None:
        with OpenLab() as lab:
            for option, said in (("--lose 0", "--lose 0"), ("--port-mtu 1", "--port-mtu 1"),
                                 ("--arp-flip 7", "--arp-flip 7"), ("--port-down", "no switch"),
                                 ("--address x", "no address"), ("--firewall reset --at port", "only drop")):
                done = support.lab("set", "--lab", lab.plan.name, "--host", "1", "--nic", "1", *option.split())
                self.assertIn(done.returncode, (1, 2), option)
                self.assertIn(said, done.stderr, option)


if __name__ == "__main__":
    support.main()
