"""The engine joins the expected rails by lanes, on hosts of every shape, and all rails carry."""
from __future__ import annotations

import tempfile
import unittest

import engine_lab
from engine_lab import EngineTest, kBin, net_perf
from support import lab

_TWO = ["--nics", "2"]
_ALIGNED = [("eth0", "eth0"), ("eth1", "eth1")]


# A host's address is on lo. Its NICs have link-local addresses only, and routes spread connections over the NICs by
# their ports.
_BGP_UNNUMBERED = """
sysctl -qw net.ipv4.fib_multipath_hash_policy=1
for nic in 0 1; do
  ip addr flush dev eth$nic scope global
  ip addr add fe80::$((nic + 1)):$((RANK + 1))/64 dev eth$nic nodad
done
ip addr add 10.9.0.$((RANK + 1))/32 dev lo
peer=$((2 - RANK))
ip route add 10.9.0.$peer/32 nexthop via inet6 fe80::1:$peer dev eth0 nexthop via inet6 fe80::2:$peer dev eth1
export NCCL_SOCKET_IFNAME=lo RAILWEAVE_LANES_PER_RAIL=16
"""


class Shapes(EngineTest):
    def test_an_address_on_loopback_that_routes_lead_to(self) -> None:
        """BGP unnumbered. By chance, one of the two links gets none of the sixteen lanes in one of 2^15 runs."""
        outcome = self.assert_works(net_perf([*_TWO, "--management", "--rate", "200mbit"], "--both",
                                             setup=_BGP_UNNUMBERED))
        self.assertEqual([("lo", "lo")] * 16, outcome.pairs(), str(outcome))
        for host in (0, 1):
            for nic in ("eth0", "eth1"):
                self.assertGreater(min(outcome.carried(host)[nic]), 300_000, str(outcome))

    def test_an_address_on_loopback__and_a_link_is_lost(self) -> None:
        lose = "[ $RANK = 0 ] || (moved eth1 2000000; ip link set eth1 down; echo lost eth1) &"
        outcome = net_perf([*_TWO, "--management", "--rate", "200mbit"], "--duration", "4", setup=_BGP_UNNUMBERED,
                           beside=lose)
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertEqual([["eth1"]], outcome.values(1, "lost"), str(outcome))
        arrived = [outcome.carried(1)[nic][1] for nic in ("eth0", "eth1")]
        self.assertGreater(arrived[0], 3 * arrived[1], str(outcome))

    def test_disjoint_subnets_join_rails_that_reach_each_other(self) -> None:
        self.assert_pairs(_ALIGNED, self.assert_works(net_perf(_TWO)))

    def test_the_subnet_decides_and_not_the_order(self) -> None:
        outcome = net_perf(_TWO, setup="[ $RANK = 0 ] || export RAILWEAVE_RAILS=eth1,eth0")
        self.assert_pairs(_ALIGNED, self.assert_works(outcome))

    def test_one_shared_subnet(self) -> None:
        """Either NIC of a host may answer ARP for the other's address, so the pairs are chance. Every rail has a lane
        all the same."""
        outcome = self.assert_works(net_perf([*_TWO, "--subnets", "shared", "--rate", "200mbit"], "--both",
                                             "--bytes", "64M"))
        self.assert_bound(outcome)
        for host in (0, 1):
            self.assertEqual({"eth0", "eth1"}, {pair[host] for pair in outcome.pairs()}, str(outcome))

    def test_two_against_four(self) -> None:
        outcome = self.assert_works(net_perf(["--nics", "2,4", "--rate", "200mbit/100mbit"]))
        self.assert_pairs([("eth0", "eth0"), ("eth0", "eth2"), ("eth1", "eth1"), ("eth1", "eth3")], outcome)
        for lane in outcome.lanes(0):
            self.assertGreater(lane.sent, outcome.result["bytes"] / 20, str(outcome))

    def test_one_against_three(self) -> None:
        outcome = self.assert_works(net_perf(["--nics", "1,3", "--rate", "300mbit/100mbit"], "--both"))
        self.assert_pairs([("eth0", "eth0"), ("eth0", "eth1"), ("eth0", "eth2")], outcome)
        self.assertEqual({"eth0", "eth1", "eth2"}, {rail for rail, sent in outcome.sent_by_rail(1).items() if sent > 0})

    def test_names_that_differ_per_host(self) -> None:
        outcome = self.assert_works(net_perf([*_TWO, "--names", "eth,ens"]))
        self.assert_pairs([("eth0", "ens0"), ("eth1", "ens1")], outcome)

    def test_ipv6_only(self) -> None:
        outcome = self.assert_works(net_perf([*_TWO, "--ipv6"]))
        self.assert_pairs(_ALIGNED, outcome)
        self.assertTrue(all(lane.local.startswith("[fd77:") for lane in outcome.lanes(0)), outcome.lanes(0))

    def test_unequal_mtu(self) -> None:
        outcome = net_perf([*_TWO, "--mtu", "9000"], setup="[ $RANK = 0 ] || ip link set eth1 mtu 1500")
        self.assert_pairs(_ALIGNED, self.assert_works(outcome))


class DeadPairs(EngineTest):
    """One pair carries nothing from the start. The other pair carries everything, and waits for the dead one briefly at
    most."""

    def check(self, outcome: engine_lab.Outcome, rail: str) -> None:
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertEqual([(rail, rail)], outcome.pairs(), str(outcome))

    def test_a_link_that_is_down(self) -> None:
        self.check(net_perf(_TWO, setup="[ $RANK = 0 ] || ip link set eth1 down"), "eth0")

    def test_a_link_that_is_up_and_carries_nothing(self) -> None:
        self.check(net_perf([*_TWO, "--cut", "1:1"]), "eth0")

    def test_the_first_link_carries_nothing(self) -> None:
        # The ranks of net_perf must not meet over the dead link either.
        meet = "MASTER_ADDR=${RWLAB_ADDRESSES%%;*}; export MASTER_ADDR=${MASTER_ADDR#*,}"
        self.check(net_perf([*_TWO, "--cut", "1:0"], setup=meet), "eth1")


class Shares(EngineTest):
    def test_equal_rails_carry_about_the_same(self) -> None:
        outcome = self.assert_works(net_perf([*_TWO, "--rate", "300mbit"], "--bytes", "32M"))
        self.assert_pairs(_ALIGNED, outcome)
        sent = outcome.sent_by_rail()
        self.assertGreater(min(sent.values()), 0.3 * sum(sent.values()), sent)

    def test_a_slow_rail_carries_less(self) -> None:
        outcome = self.assert_works(net_perf([*_TWO, "--rate", "300mbit,30mbit"], "--bytes", "32M"))
        sent = outcome.sent_by_rail()
        self.assertGreater(sent["eth0"], 3 * sent["eth1"], sent)
        self.assertGreater(sent["eth1"], 0, sent)


class Configured(EngineTest):
    def test_lanes_per_rail(self) -> None:
        outcome = self.assert_works(net_perf(_TWO, setup="export RAILWEAVE_LANES_PER_RAIL=3"))
        self.assert_pairs(3 * _ALIGNED, outcome)

    def test_chosen_rails(self) -> None:
        outcome = self.assert_works(net_perf(_TWO, setup="export RAILWEAVE_RAILS=eth1"))
        self.assert_pairs([("eth1", "eth1")], outcome)
        self.assertLess(outcome.carried(0)["eth0"][0], 1_000_000, str(outcome))

    def test_in_a_pod_the_additional_networks_carry(self) -> None:
        with tempfile.NamedTemporaryFile("w") as status:
            status.write('[{"interface":"eth0","default":true},{"interface":"eth1"},{"interface":"eth2"}]')
            status.flush()
            outcome = self.assert_works(net_perf(
                ["--nics", "3"],
                setup=f"unset NCCL_SOCKET_IFNAME; export RAILWEAVE_NETWORK_STATUS_FILE={status.name}"))
        self.assert_pairs([("eth1", "eth1"), ("eth2", "eth2")], outcome)
        self.assertLess(outcome.carried(0)["eth0"][0], 1_000_000, str(outcome))

    def test_a_device_per_rail(self) -> None:
        outcome = self.assert_works(net_perf(_TWO, "--device", "1", setup="export RAILWEAVE_DEVICES=rails"))
        self.assertIn("eth1", outcome.document["plugin"]["device"]["name"])
        self.assertEqual(0, outcome.sent_by_rail().get("eth0", 0), str(outcome))
        self.assertLess(outcome.carried(0)["eth0"][0], 1_000_000, str(outcome))
        self.assertGreater(outcome.carried(0)["eth1"][0], outcome.result["bytes"], str(outcome))

    def test_there_are_as_many_devices_as_rails(self) -> None:
        done = lab("run", "--hosts", "1", *_TWO, "--", "env", "RAILWEAVE_DEVICES=rails", str(kBin / "net_perf"),
                   "--local", "--device", "2")
        self.assertIn("--device 2: the plugin has 2 device(s)", done.stderr)

    def test_names_that_do_not_exist(self) -> None:
        for variable in ("RAILWEAVE_RAILS=eth9", "NCCL_SOCKET_IFNAME==eth9"):
            with self.subTest(variable):
                outcome = net_perf(_TWO, setup=f"export {variable}", deadline_s=20)
                self.assertEqual(1, outcome.status, str(outcome))
                for host in (0, 1):
                    self.assertEqual(1, len(outcome.warnings(host)), str(outcome))
                    self.assertRegex(outcome.warnings(host)[0], "eth9.*eth0.*eth1")


if __name__ == "__main__":
    engine_lab.main()
